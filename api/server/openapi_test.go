package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi-validator/schema_validation"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/vtpmdetect"
)

// openAPI is api/openapi.yaml, and which of its answers were seen.
type openAPI struct {
	model     *v3.Document
	validator validator.Validator
	schemas   schema_validation.SchemaValidator
	seen      map[string]bool
}

// readOpenAPI reads the description. Strict, it wants of the server no field that
// the description does not have.
func readOpenAPI(t testing.TB) *openAPI {
	t.Helper()
	text, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	model, err := document.BuildV3Model()
	if err != nil {
		t.Fatal(err)
	}
	strict := []config.Option{config.WithFormatAssertions(), config.WithStrictMode()}
	v, errs := validator.NewValidator(document, strict...)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if ok, errs := v.ValidateDocument(); !ok {
		t.Fatal(errs)
	}
	return &openAPI{&model.Model, v, schema_validation.NewSchemaValidator(strict...), map[string]bool{}}
}

// answers lists the answers of the description: method, path, status, media type.
func (o *openAPI) answers() (all []string) {
	for path, item := range o.model.Paths.PathItems.FromOldest() {
		for method, operation := range item.GetOperations().FromOldest() {
			for status, response := range operation.Responses.Codes.FromOldest() {
				if response.Content == nil {
					all = append(all, strings.ToUpper(method)+" "+path+" "+status+" ")
				}
				for kind := range response.Content.FromOldest() {
					all = append(all, strings.ToUpper(method)+" "+path+" "+status+" "+kind)
				}
			}
		}
	}
	return all
}

// accepts checks that the answer to a request on a path of the description is one
// of those that it has there.
func (o *openAPI) accepts(t testing.TB, path string, request *http.Request, answer *http.Response) {
	t.Helper()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	if kind == linesType[0] {
		// The validator takes it for one JSON.
		o.acceptsLines(t, string(body))
	} else if ok, errs := o.validator.ValidateHttpResponse(request, answer); !ok {
		t.Errorf("%s %s: %s %.300s: %v", request.Method, request.URL, answer.Status, body, errs)
	}
	if kind == "text/plain" {
		// The validator looks into JSON only.
		o.acceptsText(t, path, request.Method, answer.StatusCode, string(body))
	}
	o.seen[fmt.Sprintf("%s %s %d %s", request.Method, path, answer.StatusCode, kind)] = true
}

func (o *openAPI) acceptsLines(t testing.TB, body string) {
	t.Helper()
	proxy, ok := o.model.Components.Schemas.Get("Event")
	if !ok {
		t.Fatal("no schema of an Event")
	}
	for line := range strings.Lines(body) {
		if ok, errs := o.schemas.ValidateSchemaString(proxy.Schema(), line); !ok {
			t.Errorf("%s: %v", line, errs)
		}
	}
}

func (o *openAPI) acceptsText(t testing.TB, path, method string, status int, body string) {
	t.Helper()
	operation, _ := o.model.Paths.PathItems.GetOrZero(path).GetOperations().Get(strings.ToLower(method))
	response := operation.Responses.Codes.GetOrZero(strconv.Itoa(status))
	schema := response.Content.GetOrZero("text/plain").Schema.Schema()
	if ok, errs := o.schemas.ValidateSchemaObject(schema, body); !ok {
		t.Errorf("%s %s: %.300q: %v", method, path, body, errs)
	}
}

// TestOpenAPIHasWhatIsServed: each method of each path, and no other.
func TestOpenAPIHasWhatIsServed(t *testing.T) {
	o := readOpenAPI(t)
	s, _ := newServer(t, keygen.ClassH, 0)
	var served, described []string
	for _, r := range s.routes {
		served = append(served, r.method+" "+r.path)
	}
	for path, item := range o.model.Paths.PathItems.FromOldest() {
		for method := range item.GetOperations().FromOldest() {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(served)
	slices.Sort(described)
	if !slices.Equal(served, described) {
		t.Errorf("served are\n%s\ndescribed are\n%s", strings.Join(served, "\n"), strings.Join(described, "\n"))
	}
}

type soundRequest struct{ method, path, target, accept, body string }

func (s soundRequest) request() *http.Request {
	r := requestAs(caller{}, s.method, "http://opmint"+s.target, s.accept)
	if s.body != "" {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(s.body)), int64(len(s.body))
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// soundRequests are requests of every kind.
var soundRequests = []soundRequest{
	{"POST", "/v1/names", "/v1/names", "", ""},
	{"POST", "/v1/names", "/v1/names?count=3&format=uuid", "", "{}"},
	{"POST", "/v1/names", "/v1/names?format=uuid4", "", ""},
	{"POST", "/v1/names", "/v1/names?format=uuid7", "", ""},
	{"POST", "/v1/names", "/v1/names?format=header", "", ""},
	{"POST", "/v1/names", "/v1/names?count=2", "text/plain", ""},
	{"GET", "/v1/names/{name}", "/v1/names/" + foreignName, "", ""},
	{"GET", "/v1/names/{name}", "/v1/names/" + foreignName + "_a_b-2", "", ""},
	{"GET", "/v1/names/{name}", "/v1/names/" + semanticName, "", ""},
	{"GET", "/v1/names/{name}", "/v1/names/" + ownName, "", ""},
	{"POST", "/v1/leases", "/v1/leases", "", `{"count":1048576}`},
	{"PUT", intentPath, "/v1/intents/..%2Fnew?uid=7", "", `{"fingerprint":"` + testFingerprint + `","retain":"1h"}`},
	{"PUT", intentPath, "/v1/intents/known", "", `{"fingerprint":"` + testFingerprint + `"}`},
	{"GET", intentPath, "/v1/intents/known", "", ""},
	{"DELETE", intentPath, "/v1/intents/known", "", ""},
	{"PUT", numberPath, "/v1/streams/s/names/new", "", ""},
	{"PUT", numberPath, "/v1/streams/s/names/known", "", "{}"},
	{"PUT", numberPath, "/v1/streams/s/names/void", "", ""},
	{"DELETE", seqPath, "/v1/streams/s/seqs/2", "", ""},
	{"POST", ackedPath, "/v1/streams/s/acked", "", `{"below":2}`},
	{"POST", editionPath, "/v1/streams/s/edition", "", `{"above":"00000007-zzzzzzzzzzzzz"}`},
	{"POST", editionPath, "/v1/streams/t/edition", "", ""},
	{"PUT", operationPath, "/v1/operations/pay/new?uid=7", "", `{"holder":"h","lease":"1m","orphan":"retry"}`},
	{"PUT", operationPath, "/v1/operations/pay/held", "", `{"holder":"h"}`},
	{"PUT", operationPath, "/v1/operations/pay/applied", "", `{"holder":"i","fingerprint":"` + testFingerprint + `"}`},
	{"GET", operationPath, "/v1/operations/pay/applied", "", ""},
	{"GET", operationPath, "/v1/operations/pay/held", "", ""},
	{"GET", operationPath, "/v1/operations/pay/lapsed", "", ""},
	{"POST", extendPath, "/v1/operations/pay/held/extend", "", `{"holder":"h","fence":1,"lease":"2m"}`},
	{"POST", finishPath, "/v1/operations/pay/held/finish", "",
		`{"holder":"h","fence":1,"outcome":"failed","result":{"status":422,"headers":{"X":["a","b"]},"body":{"base64":"AP8"}}}`},
	{"POST", finishPath, "/v1/operations/pay/lapsed/finish", "", `{"holder":"h","fence":1,"outcome":"unknown"}`},
	{"POST", settlePath, "/v1/operations/pay/lapsed/settle", "", `{"outcome":"applied","result":{"body":"by hand"}}`},
	{"POST", absorbPath, "/v1/operations/pay", "", `{"names":[{"name":"a"},{"name":"b","fingerprint":"` + testFingerprint + `"}]}`},
	{"GET", absorbPath, "/v1/operations/pay?state=unknown&after=a&limit=3", "", ""},
	{"GET", absorbPath, "/v1/operations/pay?limit=1", "", ""},
	{"PUT", scopePath, "/v1/scopes/shared.s", "", `{"horizon":"24h"}`},
	{"GET", scopePath, "/v1/scopes/pay", "", ""},
	{"POST", "/v1/ledger/accept", "/v1/ledger/accept", "", "{}"},
	{"GET", "/v1/log", "/v1/log?after=2&wait=1ms", "", ""},
	{"GET", "/v1/identity", "/v1/identity", "", ""},
	{"POST", "/v1/identity/renew", "/v1/identity/renew", "", ""},
	{"GET", "/v1/healthz", "/v1/healthz", "", ""},
	{"GET", "/v1/readyz", "/v1/readyz", "", ""},
	{"GET", "/metrics", "/metrics", "", ""},
}

// refusedRequests are refused for what the server remembers.
var refusedRequests = []struct {
	soundRequest
	status int
}{
	{soundRequest{"PUT", intentPath, "/v1/intents/gone", "", ""}, 410},
	{soundRequest{"PUT", intentPath, "/v1/intents/known", "", ""}, 422},
	{soundRequest{"GET", intentPath, "/v1/intents/unknown", "", ""}, 404},
	{soundRequest{"GET", intentPath, "/v1/intents/gone", "", ""}, 410},
	{soundRequest{"DELETE", intentPath, "/v1/intents/unknown", "", ""}, 404},
	{soundRequest{"DELETE", intentPath, "/v1/intents/gone", "", ""}, 410},
	{soundRequest{"PUT", numberPath, "/v1/streams/s/names/gone", "", ""}, 410},
	{soundRequest{"DELETE", seqPath, "/v1/streams/s/seqs/3", "", ""}, 404},
	{soundRequest{"DELETE", seqPath, "/v1/streams/s/seqs/0", "", ""}, 410},
	{soundRequest{"POST", ackedPath, "/v1/streams/unknown/acked", "", `{"below":0}`}, 404},
	{soundRequest{"PUT", operationPath, "/v1/operations/pay/held", "", `{"holder":"i"}`}, 409},
	{soundRequest{"PUT", operationPath, "/v1/operations/pay/lapsed", "", `{"holder":"h"}`}, 409},
	{soundRequest{"PUT", operationPath, "/v1/operations/pay/gone", "", `{"holder":"h"}`}, 410},
	{soundRequest{"PUT", operationPath, "/v1/operations/pay/applied", "", `{"holder":"h"}`}, 422},
	{soundRequest{"GET", operationPath, "/v1/operations/pay/unknown", "", ""}, 404},
	{soundRequest{"GET", operationPath, "/v1/operations/suspect/any", "", ""}, 409},
	{soundRequest{"GET", operationPath, "/v1/operations/pay/gone", "", ""}, 410},
	{soundRequest{"POST", extendPath, "/v1/operations/pay/unknown/extend", "", `{"holder":"h","fence":1,"lease":"1m"}`}, 404},
	{soundRequest{"POST", extendPath, "/v1/operations/pay/held/extend", "", `{"holder":"h","fence":2,"lease":"1m"}`}, 409},
	{soundRequest{"POST", extendPath, "/v1/operations/pay/gone/extend", "", `{"holder":"h","fence":1,"lease":"1m"}`}, 410},
	{soundRequest{"POST", finishPath, "/v1/operations/pay/unknown/finish", "", `{"holder":"h","fence":1,"outcome":"failed"}`}, 404},
	{soundRequest{"POST", finishPath, "/v1/operations/pay/applied/finish", "", `{"holder":"h","fence":1,"outcome":"failed"}`}, 409},
	{soundRequest{"POST", finishPath, "/v1/operations/pay/gone/finish", "", `{"holder":"h","fence":1,"outcome":"failed"}`}, 410},
	{soundRequest{"POST", settlePath, "/v1/operations/pay/unknown/settle", "", `{"outcome":"failed"}`}, 404},
	{soundRequest{"POST", settlePath, "/v1/operations/pay/held/settle", "", `{"outcome":"failed"}`}, 409},
	{soundRequest{"POST", settlePath, "/v1/operations/pay/gone/settle", "", `{"outcome":"failed"}`}, 410},
}

const (
	intentPath  = "/v1/intents/{intent}"
	numberPath  = "/v1/streams/{stream}/names/{intent}"
	seqPath     = "/v1/streams/{stream}/seqs/{seq}"
	ackedPath   = "/v1/streams/{stream}/acked"
	editionPath = "/v1/streams/{stream}/edition"

	operationPath = "/v1/operations/{scope}/{name}"
	extendPath    = operationPath + "/extend"
	finishPath    = operationPath + "/finish"
	settlePath    = operationPath + "/settle"
	absorbPath    = "/v1/operations/{scope}"
	scopePath     = "/v1/scopes/{scope}"
)

// Names to be described: of another daemon, of no daemon, and of the server's first
// epoch.
const (
	foreignName  = "h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca"
	semanticName = "s1-49v04d30c95526j48wn9h6zve9sygrsebqxerz4ryt5spq0v6wc2fyf"
	ownName      = "h1-5jdhfk10qsggpbkghq-00000001-00000000-cvmmqn7fh8p3q22c8x"
)

// breakRequest makes a sound request one that is refused with a status, or breaks
// the server so that it is.
var breakRequest = map[int]func(s *Server, r *http.Request){
	400: func(_ *Server, r *http.Request) { r.URL.RawQuery = "unheard=of" },
	403: func(_ *Server, r *http.Request) { r.Header.Set("Origin", "null") },
	413: func(_ *Server, r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader("")), maxBody+1
	},
	429: func(s *Server, _ *http.Request) { s.accounts.of(0).requests.Add(1 << 20) },
	500: func(s *Server, _ *http.Request) {
		for i := range s.routes {
			s.routes[i].handle = func(*request) (action, error) { panic("a fault") }
		}
	},
	503: func(s *Server, _ *http.Request) {
		for i := range s.routes {
			s.routes[i].handle = func(*request) (action, error) { return nil, overloaded(503, limitRetry, "too much to do") }
		}
	},
}

// TestAnswersAreThoseOfTheOpenAPI: every answer is one that the description has,
// and every answer that it has was given.
func TestAnswersAreThoseOfTheOpenAPI(t *testing.T) {
	o := readOpenAPI(t)
	ask := func(class keygen.Class, sound soundRequest, status int) {
		s, src := newServer(t, class, 0)
		s.Source = tellsAll{src}
		src.remembers(t, s)
		src.keeps(t, s)
		if strings.Contains(sound.target, "/suspect/") {
			if err := src.keeper.Suspect(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		r := sound.request()
		if ok, errs := o.validator.ValidateHttpRequest(r); !ok {
			t.Errorf("%s %s: %v", sound.method, sound.target, errs)
		}
		if status != 0 {
			if harm := breakRequest[status]; harm != nil {
				harm(s, r)
			}
		}
		answer := s.serve(r)
		if status != 0 && answer.StatusCode != status {
			t.Errorf("%s %s: %s, want %d", sound.method, sound.target, answer.Status, status)
		}
		o.accepts(t, sound.path, r, answer)
	}
	for _, sound := range soundRequests {
		for _, class := range []keygen.Class{keygen.ClassH, keygen.ClassV, keygen.ClassJ} {
			ask(class, sound, 0)
		}
		for status := range breakRequest {
			ask(keygen.ClassH, sound, status)
		}
	}
	for _, refused := range refusedRequests {
		ask(keygen.ClassH, refused.soundRequest, refused.status)
	}
	for _, answer := range o.answers() {
		if !o.seen[answer] {
			t.Errorf("described and never seen: %s", answer)
		}
	}
}

// TestProblemsOfNoOperation: what is refused before it is known what was asked for
// is a Problem of the description.
func TestProblemsOfNoOperation(t *testing.T) {
	o := readOpenAPI(t)
	proxy, ok := o.model.Components.Schemas.Get("Problem")
	if !ok {
		t.Fatal("no schema of a Problem")
	}
	d := startServer(t, 0)
	for status, sent := range map[string]string{
		"404": get("/v2"), "405": get("/v1/names"), "400": "hello\r\n\r\n", "413": get("/" + strings.Repeat("x", maxHeader+8192)),
	} {
		answers, _ := d.raw(sent)
		body, err := io.ReadAll(answers[0].Body)
		if err != nil || !strings.HasPrefix(answers[0].Status, status) {
			t.Errorf("%s, %v, want %s", answers[0].Status, err, status)
		}
		if ok, errs := o.schemas.ValidateSchemaBytes(proxy.Schema(), body); !ok {
			t.Errorf("%s: %v", body, errs)
		}
	}
}

// tellsAll is a source that knows all of its identity.
type tellsAll struct{ *source }

func (s tellsAll) Identity(ctx context.Context) (*api.Identity, error) {
	id, err := s.source.Identity(ctx)
	id.EKFingerprint = "sha256:" + strings.Repeat("0f", 32)
	id.Incarnation, id.Minter = strings.Repeat("1e", 32), strings.Repeat("2d", 16)
	id.Evidence = vtpmdetect.Evidence{TPM: &vtpmdetect.TPM{Driver: "tpm_crb"}}
	id.Verdict = vtpmdetect.Judge(id.Evidence)
	id.Rollbacks = []api.Rollback{{Time: time.Unix(1_900_000_000, 0).UTC(), What: "tpm", Seen: 3, Expected: 4}}
	return id, err
}
