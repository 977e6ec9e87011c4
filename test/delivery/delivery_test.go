// Package delivery checks the examples of config/delivery against the API types of the tools. It has its own module, so that their
// dependencies are not those of h2surge.
package delivery

import (
	"os"
	"path/filepath"
	"testing"

	rollouts "github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	flagger "github.com/fluxcd/flagger/pkg/apis/flagger/v1beta1"
	flux "github.com/fluxcd/kustomize-controller/api/v1"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"sigs.k8s.io/yaml"
)

// TestTypes: each field of an example exists in the API of its tool, and has the right type.
func TestTypes(t *testing.T) {
	for file, object := range map[string]any{
		"analysis-template.yaml":  &rollouts.AnalysisTemplate{},
		"flagger-canary.yaml":     &flagger.Canary{},
		"flux/kustomization.yaml": &flux.Kustomization{},
		"tekton-task.yaml":        &tekton.Task{},
	} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "config", "delivery", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(raw, object); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
