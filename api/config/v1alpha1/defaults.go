package v1alpha1

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Environment is what the process's surroundings say where the file is silent.
type Environment struct {
	// Image is H2SURGE_IMAGE.
	Image string
	// Namespace is POD_NAMESPACE.
	Namespace string
}

// SetDefaults fills every field that is unset.
func (c *OperatorConfig) SetDefaults(env Environment) {
	c.APIVersion, c.Kind = GroupVersion.String(), Kind
	or(&c.OperatorNamespace, env.Namespace)
	or(&c.OperatorNamespace, "h2surge-system")
	or(&c.MaxConcurrentReconciles, 4)
	or(&c.LeaderElection.Enabled, new(true))
	or(&c.LeaderElection.ID, "manager.h2surge.io")
	or(&c.Metrics.BindAddress, ":8443")
	or(&c.Metrics.Secure, new(true))
	or(&c.Metrics.KeepFinished.Duration, 15*time.Minute)
	or(&c.Metrics.MaxFinished, 100)
	or(&c.Health.BindAddress, ":8081")
	or(&c.Logging.Level, "info")
	or(&c.Logging.Format, "json")
	c.Runner.setDefaults(env)
	or(&c.Report.MaxBytes, 900<<10)
	or(&c.Report.PodGrace.Duration, time.Minute)
	or(&c.Checkpoint.BytesPerSecond, 100<<10)
	if c.Targets.DeniedByDefault == nil {
		c.Targets.DeniedByDefault = []string{DeniedAPIServer, DeniedMetadata, DeniedNodes}
	}
	if s := c.ResultStorage; s != nil {
		or(&s.Path, "${namespace}/${name}/${uid}")
		or(&s.Timeout.Duration, 30*time.Second)
		or(&s.Deadline.Duration, time.Hour)
	}
}

func (r *Runner) setDefaults(env Environment) {
	or(&r.Image, env.Image)
	or(&r.ImagePullPolicy, corev1.PullIfNotPresent)
	or(&r.Resources, &corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("100m"),
		corev1.ResourceMemory: resource.MustParse("128Mi"),
	}})
	or(&r.MemoryPerCPU, "512Mi")
	if r.InheritLabels == nil {
		r.InheritLabels = []string{
			"kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class",
			"cost-center", "department", "environment", "owner", "project", "team",
		}
	}
	if r.InheritAnnotations == nil {
		r.InheritAnnotations = []string{"kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology"}
	}
	or(&r.PodTimeout.Duration, 10*time.Minute)
	or(&r.ReadyTimeout.Duration, 2*time.Minute)
	or(&r.StartAttempts, 3)
	or(&r.SnapshotInterval.Duration, time.Second)
	or(&r.ControlTimeout.Duration, 2*time.Second)
	or(&r.UnreachableTimeout.Duration, time.Minute)
	or(&r.StartLead.Duration, 750*time.Millisecond)
	or(&r.TTLAfterFinished, &metav1.Duration{Duration: time.Hour})
}

// or sets a field that is unset.
func or[T comparable](field *T, value T) { *field = cmp.Or(*field, value) }
