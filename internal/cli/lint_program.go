package cli

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/grpc"
)

// program builds the program of a plan as runners do before they connect, to check what only the content of files
// shows.
func (l *linter) program(plan *rv.Plan, places compile.Places, files []compile.File) error {
	placed, dir, err := materialise(plan, files)
	if err != nil {
		return err
	}
	defer remove(dir)
	var all chain.Errors
	_, err = chain.Load(placed, chain.Resources{Env: os.LookupEnv, ReadFile: os.ReadFile})
	if err != nil && !errors.As(err, &all) {
		return err
	}
	_, wrong := dial.ClientConfigs(placed, nil)
	for _, e := range append(all, wrong...) {
		switch at := places.Of(e.Place); {
		case errors.Is(e, fs.ErrNotExist): // files reports it
		case errors.Is(e, chain.ErrUnset):
			l.warnf(at, "%s is not set here and has no default; runners need it, by runner.podTemplate for instance",
				placed.Variables[e.Index].Env.Name)
		default:
			l.errors(field.ErrorList{planError(at, e, dir)})
		}
	}
	return nil
}

// planError returns a mistake in a plan as an error in a field of the spec. The message does not name dir, where the
// files of the manifest are.
func planError(at *field.Path, e *rv.PlanError, dir string) *field.Error {
	if mistake := (*grpc.FieldError)(nil); errors.As(e.Err, &mistake) {
		if mistake.Path != "" {
			at = at.Child(mistake.Path)
		}
		return field.Invalid(at, field.OmitValueType{}, mistake.Err.Error())
	}
	detail := strings.TrimPrefix(e.Err.Error(), at.String()+": ") // a script has the name of its field
	if dir != "" {
		detail = strings.ReplaceAll(detail, dir+string(os.PathSeparator), "")
	}
	return field.Invalid(at, field.OmitValueType{}, detail)
}

// refused returns why the engine refuses the plan of a job. dir is where the files of the manifest are.
func (j *job) refused(err error, dir string) error {
	var all chain.Errors
	if !errors.As(err, &all) {
		return command.Usagef("%v", err)
	}
	var errs field.ErrorList
	for _, e := range all {
		found := planError(j.places.Of(e.Place), e, dir)
		// steps can have the same template
		if !slices.ContainsFunc(errs, func(other *field.Error) bool { return *other == *found }) {
			errs = append(errs, found)
		}
	}
	return j.mistakes(errs)
}
