package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/lazy"
)

const explainLong = `Explain a field of a LoadTest: its type, its allowed values, its meaning and the fields
below it. No cluster is needed. PATH is the path of the field, such as
spec.chains.steps. A path from an error message works too: h2surge ignores indices and a
leading loadtest.`

func newExplainCommand() *cobra.Command {
	recursive := false
	cmd := &cobra.Command{
		Use:   "explain [PATH]",
		Short: "Explain a field of a manifest",
		Long:  explainLong,
		Example: `  h2surge explain
  h2surge explain spec.templates.capture.jsonPointer
  h2surge explain loadtest.spec.chains --recursive`,
		Args:              ExactArgs("[PATH]"),
		ValidArgsFunction: completePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := loadTestSchema()
			if err != nil {
				return Failf("%v", err)
			}
			f, err := findField(root, strings.Join(args, ""))
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), f.explain(recursive))
			return err
		},
	}
	cmd.Flags().BoolVar(&recursive, "recursive", false, "list all fields below, not only the next level")
	return cmd
}

// explained is a field and its place.
type explained struct {
	*openAPI
	path     string
	required bool
	// about are messages of rules of the objects around the field that are about the field.
	about []string
}

var (
	indices   = lazy.Regexp(`\[[^\]]*\]`)
	rootNames = []string{"loadtest", "loadtests", "lt"}
)

// findField walks from the root.
func findField(root *openAPI, path string) (explained, error) {
	names := strings.Split(indices().ReplaceAllString(strings.TrimSuffix(path, "."), ""), ".")
	if slices.Contains(rootNames, strings.ToLower(names[0])) || names[0] == "" {
		names = names[1:]
	}
	at, wanted := explained{openAPI: root}, strings.Join(names, ".")
	var about []string
	for _, name := range names {
		inside := at.inside()
		for _, r := range inside.Rules {
			if r.FieldPath != "" && !strings.Contains(r.Rule, "oldSelf") && strings.TrimPrefix(at.path+r.FieldPath, ".") == wanted {
				about = append(about, r.Message)
			}
		}
		child := inside.Properties[name]
		if child == nil {
			return at, noField(root, at, name)
		}
		at = explained{child, strings.TrimPrefix(at.path+"."+name, "."), slices.Contains(inside.Required, name), nil}
	}
	at.about = about
	return at, nil
}

func noField(root *openAPI, parent explained, name string) error {
	inside := parent.inside()
	where := "a LoadTest"
	if parent.path != "" {
		where = parent.path
	}
	if len(inside.Properties) == 0 {
		if inside.Open {
			return Usagef("%s has the fields of Kubernetes: use kubectl explain", where)
		}
		return Usagef("%s has no fields: its type is %s", where, parent.typeName())
	}
	names := slices.Sorted(maps.Keys(inside.Properties))
	lines := []string{fmt.Sprintf("%s has no field %q; allowed: %s", where, name, strings.Join(names, ", "))}
	if near := compile.Nearest(name, names); near != "" {
		lines[0] = fmt.Sprintf("%s has no field %q; did you mean %s?", where, name, near)
	}
	if elsewhere := pathsTo(root, name); len(elsewhere) > 0 {
		lines = append(lines, fmt.Sprintf("%q is a field of: %s", name, strings.Join(elsewhere[:min(len(elsewhere), 5)], ", ")))
	}
	return &exitError{code: 1, lines: lines}
}

// pathsTo are all fields with a name.
func pathsTo(root *openAPI, name string) (out []string) {
	var walk func(s *openAPI, path string)
	walk = func(s *openAPI, path string) {
		inside := s.inside()
		for _, n := range inside.names {
			if n == name {
				out = append(out, path+n)
			}
			walk(inside.Properties[n], path+n+".")
		}
	}
	walk(root, "")
	return out
}
