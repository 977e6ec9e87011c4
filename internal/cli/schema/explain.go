package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/lazy"
)

const explainLong = `Explain a field of a manifest: its type, its allowed values, its meaning and the fields
below it. No cluster is needed. PATH is the path of the field in a LoadTest, such as
spec.chains.steps. If it begins with LoadTestSchedule or Target, it is the path in an
object of this kind; a Target is a file of h2surge target. A path from an error message
works too: h2surge ignores indices.`

// NewExplainCommand returns the command explain.
func NewExplainCommand() *cobra.Command {
	recursive := false
	cmd := &cobra.Command{
		Use:   "explain [PATH]",
		Short: "Explain a field of a manifest",
		Long:  explainLong,
		Example: `  h2surge explain
  h2surge explain spec.templates.capture.jsonPointer
  h2surge explain spec.chains --recursive
  h2surge explain LoadTestSchedule.spec.schedule
  h2surge explain Target.rules.match`,
		Args:              command.ExactArgs("[PATH]"),
		ValidArgsFunction: completePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := findField(strings.Join(args, ""))
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
	kind     *kind
	path     string
	required bool
	// about are messages of rules of the objects around the field that are about the field.
	about []string
}

var indices = lazy.Regexp(`\[[^\]]*\]`)

// findField finds the field of a path, which can begin with the name of a kind.
func findField(path string) (explained, error) {
	names := strings.Split(indices().ReplaceAllString(strings.TrimSuffix(path, "."), ""), ".")
	k := kindOf(names[0])
	if k != nil || names[0] == "" {
		names = names[1:]
	}
	if k == nil {
		k = kinds[0]
	}
	root, err := k.schema()
	if err != nil {
		return explained{}, command.Failf("%v", err)
	}
	return k.find(root, names)
}

// find walks from the root.
func (k *kind) find(root *openAPI, names []string) (explained, error) {
	at, wanted := explained{openAPI: root, kind: k}, strings.Join(names, ".")
	var about []string
	for _, name := range names {
		inside := at.inside()
		for _, r := range inside.Rules {
			if r.FieldPath != "" && !strings.Contains(r.Rule, "oldSelf") && strings.TrimPrefix(at.path+r.FieldPath,
				".") == wanted {
				about = append(about, r.Message)
			}
		}
		child := inside.Properties[name]
		if child == nil {
			return at, noField(root, at, name)
		}
		at = explained{child, k, strings.TrimPrefix(at.path+"."+name, "."), slices.Contains(inside.Required, name), nil}
	}
	at.about = about
	return at, nil
}

func noField(root *openAPI, parent explained, name string) error {
	inside := parent.inside()
	where := parent.kind.a
	if parent.path != "" {
		where = parent.path
	}
	if len(inside.Properties) == 0 {
		if inside.Open {
			return command.Usagef("%s has the fields of Kubernetes: use kubectl explain", where)
		}
		return command.Usagef("%s has no fields: its type is %s", where, parent.typeName())
	}
	names := slices.Sorted(maps.Keys(inside.Properties))
	lines := []string{fmt.Sprintf("%s has no field %q; allowed: %s", where, name, strings.Join(names, ", "))}
	if near := compile.Nearest(name, names); near != "" {
		lines[0] = fmt.Sprintf("%s has no field %q; did you mean %s?", where, name, near)
	} else if near := compile.Nearest(name, kindNames()); near != "" && parent.path == "" {
		lines[0] = fmt.Sprintf("%q is not a kind; did you mean %s?", name, near)
	}
	if elsewhere := elsewhere(root, name, parent.kind); len(elsewhere) > 0 {
		lines = append(lines, fmt.Sprintf("%q is a field of: %s", name, strings.Join(elsewhere[:min(len(elsewhere), 5)],
			", ")))
	}
	return command.Exit(1, lines...)
}

// elsewhere returns the fields with a name, those of other kinds only if the kind has none.
func elsewhere(root *openAPI, name string, k *kind) []string {
	out := pathsTo(root, name)
	for _, other := range kinds {
		if root, err := other.schema(); err == nil && other != k && len(out) == 0 {
			for _, path := range pathsTo(root, name) {
				out = append(out, other.name+"."+path)
			}
		}
	}
	return out
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

// completePath offers the fields of the object that a path is in, and the kinds that a path can begin with.
func completePath(_ *cobra.Command, args []string, path string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	object := path[:strings.LastIndex(path, ".")+1]
	parent, err := findField(object)
	if err != nil {
		return nil, directive
	}
	fields := parent.inside()
	var out []string
	for _, name := range fields.names {
		out = append(out, cobra.CompletionWithDesc(object+name, summary(fields.Properties[name].Description)))
	}
	if object == "" {
		out = append(out, kindNames()...)
	}
	return command.WithPrefix(out, path), directive
}
