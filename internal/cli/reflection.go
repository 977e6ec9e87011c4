package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/reflection"
	"github.com/h2surge/h2surge/internal/report/verdict"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/observe"
)

// reflected is the name of a ConfigMap that the command line adds to a manifest. It has the proto files that targets
// have sent, by the names of the targets.
const reflected = "h2surge-reflection"

// reflectionTimeout bounds the questions to a target.
const reflectionTimeout = 10 * time.Second

// addReflected adds the ConfigMap, without content yet, to a manifest, and protoFrom to the targets that steps call and
// that have none.
func addReflected(m *compile.Manifest) error {
	spec := &m.LoadTest.Spec
	var without []int
	for i := range spec.Targets {
		if len(spec.Targets[i].ProtoFrom) == 0 {
			without = append(without, i)
			spec.Targets[i].ProtoFrom = []v1alpha1.ContentSource{{
				ConfigMapKeyRef: &v1alpha1.KeyReference{Name: reflected, Key: reflectedKey(spec.Targets[i].Name)},
			}}
		}
	}
	p, _, errs := compile.Compile(m.Name(), spec)
	if len(errs) > 0 {
		return nil // which the caller finds, too
	}
	data := map[string][]byte{}
	for _, i := range without {
		if t := &spec.Targets[i]; len(services(p, i)) > 0 {
			data[reflectedKey(t.Name)] = nil
		} else {
			t.ProtoFrom = nil
		}
	}
	if len(data) == 0 {
		return command.Usagef("--reflection: no step calls a target that has no protoFrom")
	}
	m.ConfigMaps = append(m.ConfigMaps, corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: reflected, Namespace: m.LoadTest.Namespace}, BinaryData: data,
	})
	return nil
}

func reflectedKey(target string) string { return target + ".binpb" }

// services returns the names of the services that the steps of a plan call at a target.
func services(p *rv.Plan, target int) (names []string) {
	for i := range p.Chains {
		for j := range p.Chains[i].Steps {
			if s := &p.Chains[i].Steps[j]; s.GRPC != nil && s.Target == target && !slices.Contains(names, s.GRPC.Service) {
				names = append(names, s.GRPC.Service)
			}
		}
	}
	return names
}

// askTargets fills the files of the ConfigMap of addReflected with the answers of the targets. An interrupt ends it.
func askTargets(p *rv.Plan, files []compile.File) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	placed, dir, err := materialise(p, files)
	if err != nil {
		return command.Failf("%v", err)
	}
	defer remove(dir)
	secure, wrong := dial.ClientConfigs(placed, nil)
	if len(wrong) > 0 {
		return nil // which the engine reports
	}
	for i := range p.Targets {
		t := &p.Targets[i]
		at := slices.IndexFunc(files, func(f compile.File) bool {
			return f.Path == "configmaps/"+reflected+"/"+reflectedKey(t.Name)
		})
		if at < 0 {
			continue
		}
		files[at].Content, err = askTarget(ctx, &placed.Targets[i], services(p, i), secure[i][0])
		switch {
		case ctx.Err() != nil:
			return command.Exit(verdict.ExitStopped, reasonInterrupted)
		case err != nil:
			return command.Usagef("--reflection: target %s: %v; name its proto files in protoFrom", t.Name, err)
		}
	}
	return nil
}

// askTarget returns the proto files of services of a target.
func askTarget(ctx context.Context, t *rv.Target, services []string, secure *tls.Config) ([]byte, error) {
	e := &t.Endpoints[0]
	if len(e.URL) > 0 {
		return nil, errors.New("the url has placeholders")
	}
	ctx, cancel := context.WithTimeout(ctx, reflectionTimeout)
	defer cancel()
	transport := observe.Transport(&observe.Config{Context: ctx, Resolver: dial.NewResolver(nil)}, e, t, secure)
	return (&reflection.Server{Transport: transport, Base: e.Base()}).Files(ctx, services)
}
