package integration

import (
	"math"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiserver/pkg/cel/environment"
)

// TestRulesLeaveBudget: the API server refuses a CRD whose rules have an estimated cost above 100 million together. Half of that stays free for the
// rules of the next versions.
func TestRulesLeaveBudget(t *testing.T) {
	const most = 50e6
	for _, plural := range []string{"loadtests", "loadtestschedules"} {
		var root apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crdOf(t, plural).Spec.Versions[0].Schema.OpenAPIV3Schema, &root, nil); err != nil {
			t.Fatal(err)
		}
		structural, err := structuralschema.NewStructural(&root)
		if err != nil {
			t.Fatal(err)
		}
		got := cost(t, structural, true)
		if t.Logf("%s: %d", plural, got); got > most {
			t.Errorf("the rules of %s cost %d, want at most %d", plural, got, int(most))
		}
	}
}

// cost returns the estimated cost of the rules of one object of a schema, and of all that it can contain.
func cost(t *testing.T, s *structuralschema.Structural, root bool) (sum uint64) {
	t.Helper()
	if len(s.XValidations) > 0 {
		results, err := cel.Compile(s, model.SchemaDeclType(s, root), math.MaxInt64, environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), cel.NewExpressionsEnvLoader())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Error != nil {
				t.Error(r.Error)
			}
			sum += r.MaxCost
		}
	}
	for name := range s.Properties {
		property := s.Properties[name]
		sum += cost(t, &property, false)
	}
	if s.Items != nil && s.ValueValidation != nil && s.ValueValidation.MaxItems != nil {
		sum += uint64(*s.ValueValidation.MaxItems) * cost(t, s.Items, false)
	}
	return sum
}
