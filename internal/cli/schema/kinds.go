package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/config/crd"
	"github.com/h2surge/h2surge/internal/mock/rules"
)

// kind is a kind of manifests that "explain" and "schema" know.
type kind struct {
	name string
	// called are the other names that users have for it. All are compared without regard to case.
	called []string
	a      string // the name with its article
	schema func() (*openAPI, error)
}

// kinds are all kinds. The first one is that of paths that begin with a field.
var kinds = []*kind{
	{"LoadTest", []string{"loadtests", "lt"}, "a LoadTest", loadTestSchema},
	{"LoadTestSchedule", []string{"loadtestschedules", "lts"}, "a LoadTestSchedule", scheduleSchema},
	{rules.Kind, nil, "a Target", targetSchema},
}

// kindNames are the names of all kinds.
func kindNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// kindOf returns the kind with a name; nil: there is none.
func kindOf(name string) *kind {
	for _, k := range kinds {
		if strings.EqualFold(name, k.name) || slices.Contains(k.called, strings.ToLower(name)) {
			return k
		}
	}
	return nil
}

// loadTestSchema is that of a whole LoadTest.
func loadTestSchema() (*openAPI, error) { return objectSchema[v1alpha1.LoadTest](crd.LoadTest, 50) }

// scheduleSchema is that of a LoadTestSchedule. The spec of its template is that of a LoadTest.
func scheduleSchema() (*openAPI, error) {
	root, err := objectSchema[v1alpha1.LoadTestSchedule](crd.LoadTestSchedule, 41)
	if err != nil {
		return nil, err
	}
	loadTest, err := loadTestSchema()
	if err != nil {
		return nil, err
	}
	at := root.Properties["spec"].Properties["template"].Properties["spec"]
	description := at.Description
	*at = *loadTest.Properties["spec"]
	at.Description = description
	return root, nil
}

// targetSchema is that of a file of h2surge target.
func targetSchema() (*openAPI, error) { return parsedSchema[rules.File](rules.Schema) }

// objectSchema parses the schema of an object of a cluster with at most a number of characters in its name.
func objectSchema[T any](text []byte, most int64) (*openAPI, error) {
	root, err := parsedSchema[T](text)
	if err != nil {
		return nil, err
	}
	name := root.Properties["metadata"].Properties["name"]
	name.Pattern, name.MaxLength = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", &most // what the rules say
	root.Required = append(root.Required, "apiVersion", "kind", "metadata")
	root.sort(reflect.TypeFor[T]())
	return root, nil
}

// parsedSchema parses a schema whose fields have the order of a Go type.
func parsedSchema[T any](text []byte) (*openAPI, error) {
	root := &openAPI{}
	if err := json.Unmarshal(text, root); err != nil {
		return nil, fmt.Errorf("the built-in schema: %w", err)
	}
	root.sort(reflect.TypeFor[T]())
	return root, nil
}
