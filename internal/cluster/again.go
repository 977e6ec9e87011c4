package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// ScheduleKind is the prefix of the name of a schedule in From: schedule/nightly.
const ScheduleKind = "schedule/"

// From returns the manifest of a new run: a copy of a LoadTest, or the template of a LoadTestSchedule. source is the
// name of the LoadTest, or schedule/NAME. The API server makes the name of the new LoadTest, unless the caller sets
// one.
func (c *Cluster) From(ctx context.Context, source string) (*compile.Manifest, error) {
	lt := &v1alpha1.LoadTest{}
	if name, is := strings.CutPrefix(source, ScheduleKind); is {
		s := &v1alpha1.LoadTestSchedule{}
		if err := c.client.Get(ctx, c.key(name), s); err != nil {
			return nil, c.explain(err)
		}
		lt.Name, lt.Labels, lt.Annotations, lt.Spec = s.Name, s.Spec.Template.Metadata.Labels,
			s.Spec.Template.Metadata.Annotations, s.Spec.Template.Spec
	} else {
		of, err := c.Get(ctx, source)
		if err != nil {
			return nil, err
		}
		name := of.Name
		if prefix := strings.TrimSuffix(of.GenerateName, "-"); prefix != "" {
			name = prefix // the copy of a copy is not called pcf-x7k2p-9b4dw
		}
		lt.Name, lt.Labels, lt.Annotations, lt.Spec = name, kept(of.Labels), kept(of.Annotations), *of.Spec.DeepCopy()
		lt.Spec.Stop, lt.Spec.Suspend = false, false // of the run that was
	}
	lt.Namespace = c.Namespace
	if _, _, errs := compile.Compile(lt.Namespace+"/"+lt.Name, &lt.Spec); len(errs) > 0 {
		return nil, fmt.Errorf("the spec of %s is not valid:\n%s", source, strings.Join(compile.ErrorLines(errs), "\n"))
	}
	return &compile.Manifest{LoadTest: lt}, nil
}

// notCopied are prefixes of labels and annotations that say which program manages an object. A copy with them would be
// deleted by that program, because it is not in the program's source.
var notCopied = []string{
	"kubectl.kubernetes.io/", "argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/",
	"helm.sh/", "meta.helm.sh/",
	"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", v1alpha1.LabelSchedule,
	v1alpha1.AnnotationScheduledTime,
}

// kept returns the labels or annotations that a copy of an object has, too.
func kept(all map[string]string) map[string]string {
	out := maps.Clone(all)
	maps.DeleteFunc(out, func(key, _ string) bool {
		return slices.ContainsFunc(notCopied, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	})
	return out
}
