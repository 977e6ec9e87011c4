package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// missing says which of the files that a manifest names itself are not there. Runners say so too,
// but not at which field, and only one at a time. Names are relative to the working directory.
func missing(files []compile.OwnFile) (errs field.ErrorList) {
	wrong := func(f compile.OwnFile, what any) {
		errs = append(errs, field.Invalid(f.Field, field.OmitValueType{}, fmt.Sprintf("file %s: %v", absolute(f.Path), what)))
	}
	for _, f := range files {
		info, err := os.Stat(f.Path)
		var cause *fs.PathError
		switch {
		case errors.As(err, &cause):
			wrong(f, cause.Err)
		case err != nil:
			wrong(f, err)
		case info.IsDir():
			wrong(f, "is a directory")
		}
	}
	return errs
}

// absolute is a path from the root: a manifest's relative path begins in the working directory.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// materialise does what the kubelet does for runner pods: it writes the files of a plan into
// a directory that only this user can read, and that the caller removes. It returns a plan with the new paths. The
// given plan and its hash do not change.
func materialise(plan *rv.Plan, files []compile.File) (placed *rv.Plan, dir string, err error) {
	if len(files) == 0 {
		return plan, "", nil
	}
	if dir, err = os.MkdirTemp("", "h2surge-"); err != nil {
		return nil, "", err
	}
	if err = writeBelow(dir, files); err != nil {
		remove(dir)
		return nil, "", err
	}
	if placed, err = moved(plan, dir); err != nil {
		remove(dir)
	}
	return placed, dir, err
}

// remove removes the directory that materialise made, if it made one.
func remove(dir string) { _ = os.RemoveAll(dir) } // what cannot be removed is readable by its owner only

// writeBelow writes files into a directory. Their paths have keys of ConfigMaps and Secrets, and none leads out of the
// directory.
func writeBelow(dir string, files []compile.File) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // files are closed one by one
	for _, f := range files {
		name := filepath.FromSlash(f.Path)
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := root.WriteFile(name, f.Content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// moved is a deep copy of a plan, which names in dir what is below compile.FilesDir and compile.SchemasDir in the
// original.
func moved(plan *rv.Plan, dir string) (*rv.Plan, error) {
	out, err := copyOf(plan)
	if err != nil {
		return nil, err
	}
	for _, name := range out.Files() {
		if below, ok := strings.CutPrefix(*name, compile.FilesDir+"/"); ok {
			*name = filepath.Join(dir, filepath.FromSlash(below))
		} else if below, ok := strings.CutPrefix(*name, compile.SchemasDir+"/"); ok {
			*name = filepath.Join(dir, filepath.Base(compile.SchemasDir), filepath.FromSlash(below))
		}
	}
	return out, nil
}

// copyOf is a deep copy.
func copyOf(plan *rv.Plan) (*rv.Plan, error) {
	b, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	out := &rv.Plan{}
	return out, json.Unmarshal(b, out)
}
