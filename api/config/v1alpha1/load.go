package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// Load decodes YAML or JSON strictly, sets defaults and validates. Empty data gives the
// defaults. The error names every field that is wrong.
func Load(data []byte, env Environment) (*OperatorConfig, error) {
	cfg, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("decoding %s: %w", Kind, err)
	}
	cfg.SetDefaults(env)
	if errs := cfg.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("invalid %s: %w", Kind, errs.ToAggregate())
	}
	return cfg, nil
}

// decode lets the document say its kind: decoding into a value of a known type would take one
// without any for this kind.
func decode(data []byte) (*OperatorConfig, error) {
	if len(data) == 0 {
		return &OperatorConfig{}, nil
	}
	scheme := runtime.NewScheme()
	if err := addKnownTypes(scheme); err != nil {
		return nil, err
	}
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	obj, gvk, err := codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	cfg, ok := obj.(*OperatorConfig)
	if !ok {
		return nil, fmt.Errorf("the file is a %s", gvk)
	}
	return cfg, nil
}
