package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// materialise does what the kubelet does for runner pods: it puts the files that a plan names
// where nobody else can read them. It returns a plan that names them there, and removes them when
// remove is called. The plan that was given stays as it is, and so does its hash.
func materialise(plan *rv.Plan, files []compile.File) (placed *rv.Plan, remove func(), err error) {
	if len(files) == 0 {
		return plan, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "h2surge-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // what cannot be removed is readable by its owner only
	for _, f := range files {
		if err := writeBelow(dir, f); err != nil {
			remove()
			return nil, nil, err
		}
	}
	p := *plan
	p.Targets = slices.Clone(plan.Targets)
	for i := range p.Targets {
		moved(&p.Targets[i], dir)
	}
	return &p, remove, nil
}

// writeBelow relies on compile, which lets no path lead out of the directory.
func writeBelow(dir string, f compile.File) error {
	name := filepath.Join(dir, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, f.Content, 0o600)
}

func moved(t *rv.Target, dir string) {
	if t.TLS == nil {
		return
	}
	own := *t.TLS
	t.TLS = &own
	for _, name := range tlsFiles(t) {
		if below, ok := strings.CutPrefix(*name, compile.FilesDir+"/"); ok {
			*name = filepath.Join(dir, filepath.FromSlash(below))
		}
	}
}

func tlsFiles(t *rv.Target) []*string { return []*string{&t.TLS.CAFile, &t.TLS.CertFile, &t.TLS.KeyFile} }
