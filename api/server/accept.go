package server

import (
	"mime"
	"strconv"
	"strings"
)

// wantsText reports whether a client that sent these Accept headers would rather
// have text/plain than application/json (RFC 9110 section 12.5.1). What cannot be
// read says nothing; without a preference it is JSON.
func wantsText(accept []string) bool {
	if len(accept) == 0 {
		return false
	}
	var text, json preference
	for _, header := range accept {
		for part := range strings.SplitSeq(header, ",") {
			text.consider(part, "text/plain")
			json.consider(part, "application/json")
		}
	}
	if text.quality == json.quality {
		return text.quality > 0 && text.precision > json.precision
	}
	return text.quality > json.quality
}

// preference is how much a client wants a media type.
type preference struct {
	quality   float64 // 0 to 1
	precision int     // of the range that says so: 1 for */*, 2 for text/*, 3 for text/plain
}

// consider takes into account one range of an Accept header; the most precise one
// counts.
func (p *preference) consider(part, mediaType string) {
	accepted, parameters, err := mime.ParseMediaType(part)
	if err != nil {
		return
	}
	precision := 0
	switch kind, _, _ := strings.Cut(mediaType, "/"); accepted {
	case mediaType:
		precision = 3
	case kind + "/*":
		precision = 2
	case "*/*":
		precision = 1
	}
	if precision == 0 || precision < p.precision {
		return
	}
	quality := 1.0
	if q, ok := parameters["q"]; ok {
		if quality, err = strconv.ParseFloat(q, 64); err != nil || !(quality >= 0 && quality <= 1) {
			return
		}
	}
	*p = preference{quality, precision}
}
