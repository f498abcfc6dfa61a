// Package opmint_test holds the rules of the house that span packages: who
// imports whom, and what is documented.
package opmint_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/opmint/opmint"

// imports says what a package may import besides the standard library: of ours,
// and from outside. Packages that are not listed may import anything and are
// imported by none.
var imports = map[string]struct{ ours, outside string }{
	"keygen":         {"", ""},
	"tpm":            {"", "github.com/google/go-tpm golang.org/x/sys"},
	"vtpmdetect":     {"tpm", "golang.org/x/sys"},
	"store":          {"", "go.etcd.io/bbolt"},
	"store/etcd":     {"store", "go.etcd.io/etcd/client/v3"},
	"journal":        {"keygen store", ""},
	"ledger":         {"keygen store", ""},
	"ledger/httpkey": {"keygen store ledger", ""},
	"ledger/inorder": {"keygen store ledger", ""},
	"api":            {"keygen vtpmdetect ledger ledger/inorder", ""},
	"api/server": {
		"api keygen journal ledger ledger/inorder vtpmdetect",
		"github.com/prometheus/client_golang github.com/coreos/go-systemd golang.org/x/sys",
	},
	"swtpm":      {"", "github.com/google/go-tpm"},
	"cmd/opmint": {"api keygen ledger store vtpmdetect tpm", "github.com/spf13/cobra"},
	"cmd/opmintd": {
		"api api/server journal keygen ledger ledger/httpkey ledger/inorder store store/etcd tpm vtpmdetect",
		"github.com/spf13/cobra",
	},
}

type goPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

// list returns the project's packages, with the imports of their code and not of
// their tests.
func list(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var p goPackage
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			packages = append(packages, p)
		}
	}
	if len(packages) == 0 {
		t.Fatal("go list knows no package")
	}
	return packages
}

func TestImports(t *testing.T) {
	for _, p := range list(t) {
		allowed, listed := imports[strings.TrimPrefix(p.ImportPath, module+"/")]
		for _, imported := range p.Imports {
			short, ours := strings.CutPrefix(imported, module+"/")
			if ours {
				if _, known := imports[short]; !known {
					t.Errorf("%s imports %s, which is for nobody to import", p.ImportPath, imported)
				}
			}
			switch {
			case !listed || !strings.Contains(strings.SplitN(imported, "/", 2)[0], "."):
			case ours && !slices.Contains(strings.Fields(allowed.ours), short):
				t.Errorf("%s may not import %s", p.ImportPath, imported)
			case !ours && !slices.ContainsFunc(strings.Fields(allowed.outside), func(m string) bool {
				return imported == m || strings.HasPrefix(imported, m+"/")
			}):
				t.Errorf("%s may not import %s", p.ImportPath, imported)
			}
		}
	}
}

// TestComments wants one package comment a package, and a comment for every
// exported item: in the declaration, its group or its line.
func TestComments(t *testing.T) {
	for _, p := range list(t) {
		var comments []string
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, p.Dir+"/"+name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if file.Doc.Text() != "" {
				comments = append(comments, name)
			}
			for _, at := range undocumented(file) {
				t.Errorf("%s: exported, without a comment", files.Position(at))
			}
		}
		if len(comments) != 1 {
			t.Errorf("%s has its package comment in %q, want it in one file", p.ImportPath, comments)
		}
	}
}

// undocumented returns where the exported items of a file are that lack a
// comment.
func undocumented(file *ast.File) []token.Pos {
	var found []token.Pos
	check := func(names []*ast.Ident, comments ...*ast.CommentGroup) {
		for _, c := range comments {
			if c.Text() != "" {
				return
			}
		}
		for _, name := range names {
			if name.IsExported() {
				found = append(found, name.Pos())
			}
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if exportedReceiver(d) {
				check([]*ast.Ident{d.Name}, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					check(spec.Names, d.Doc, spec.Doc, spec.Comment)
				case *ast.TypeSpec:
					check([]*ast.Ident{spec.Name}, d.Doc, spec.Doc)
					if spec.Name.IsExported() {
						for _, f := range members(spec.Type) {
							check(f.Names, f.Doc, f.Comment)
						}
					}
				}
			}
		}
	}
	return found
}

// members returns the fields of a struct or the methods of an interface.
func members(t ast.Expr) []*ast.Field {
	switch t := t.(type) {
	case *ast.StructType:
		return t.Fields.List
	case *ast.InterfaceType:
		return t.Methods.List
	}
	return nil
}

// exportedReceiver reports whether d is a function, or a method of an exported
// type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	receiver := d.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	switch generic := receiver.(type) {
	case *ast.IndexExpr:
		receiver = generic.X
	case *ast.IndexListExpr:
		receiver = generic.X
	}
	name, ok := receiver.(*ast.Ident)
	return ok && name.IsExported()
}
