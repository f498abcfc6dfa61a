package journal

import (
	"context"
	"fmt"
	"strings"
)

const ekTemplateKey = "ek-template"

// ekTemplateRecord says how the endorsement key is made. It stands by itself: it
// is read before the key, and with it the counter, is known.
type ekTemplateRecord struct {
	Template string `json:"template"`
}

func (r *ekTemplateRecord) valid() error {
	if len(r.Template) < 1 || len(r.Template) > 32 ||
		strings.Trim(r.Template, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("template %.40q: must be 1 to 32 of a-z, 0-9 and '-'", r.Template)
	}
	return nil
}

// EKTemplate returns what KeepEKTemplate kept last, and "" if that was nothing.
func (j *Journal) EKTemplate(ctx context.Context) (string, error) {
	var r ekTemplateRecord
	if _, err := (&edit{store: j.store}).load(ctx, ekTemplateKey, &r); err != nil {
		return "", fmt.Errorf("read the endorsement key's template: %w", err)
	}
	return r.Template, nil
}

// KeepEKTemplate keeps from which template the endorsement key is made, in 1 to 32
// of a-z, 0-9 and '-'. A TPM can learn another one with new firmware, and that
// would be another key, and another identity.
func (j *Journal) KeepEKTemplate(ctx context.Context, template string) error {
	err := j.edit(ctx, func(e *edit) error {
		var before ekTemplateRecord
		if _, err := e.load(ctx, ekTemplateKey, &before); err != nil {
			return err
		}
		if before.Template == template {
			return nil
		}
		return e.put(ekTemplateKey, &ekTemplateRecord{template})
	})
	if err != nil {
		return fmt.Errorf("keep the endorsement key's template: %w", err)
	}
	return nil
}
