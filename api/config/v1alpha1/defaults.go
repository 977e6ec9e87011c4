package v1alpha1

import (
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
	orString(&c.OperatorNamespace, env.Namespace)
	orString(&c.OperatorNamespace, "h2surge-system")
	orInt(&c.MaxConcurrentReconciles, 4)
	orTrue(&c.LeaderElection.Enabled)
	orString(&c.LeaderElection.ID, "manager.h2surge.io")
	orString(&c.Metrics.BindAddress, ":8443")
	orTrue(&c.Metrics.Secure)
	orDuration(&c.Metrics.KeepFinished, 15*time.Minute)
	orInt(&c.Metrics.MaxFinished, 100)
	orString(&c.Health.BindAddress, ":8081")
	orString(&c.Logging.Level, "info")
	orString(&c.Logging.Format, "json")
	c.Runner.setDefaults(env)
	orInt(&c.Report.MaxBytes, 900<<10)
	orDuration(&c.Report.PodGrace, time.Minute)
	orInt(&c.Checkpoint.BytesPerSecond, 100<<10)
	if c.Targets.DeniedByDefault == nil {
		c.Targets.DeniedByDefault = []string{DeniedAPIServer, DeniedMetadata, DeniedNodes}
	}
	if s := c.ResultStorage; s != nil {
		orString(&s.Path, "${namespace}/${name}/${uid}")
		orDuration(&s.Timeout, 30*time.Second)
		orDuration(&s.Deadline, time.Hour)
	}
}

func (r *Runner) setDefaults(env Environment) {
	orString(&r.Image, env.Image)
	if r.ImagePullPolicy == "" {
		r.ImagePullPolicy = corev1.PullIfNotPresent
	}
	if r.Resources == nil {
		r.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("100m"),
			corev1.ResourceMemory: resource.MustParse("128Mi"),
		}}
	}
	orString(&r.MemoryPerCPU, "512Mi")
	if r.InheritLabels == nil {
		r.InheritLabels = []string{
			"kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class",
			"cost-center", "department", "environment", "owner", "project", "team",
		}
	}
	if r.InheritAnnotations == nil {
		r.InheritAnnotations = []string{"kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology"}
	}
	orDuration(&r.PodTimeout, 10*time.Minute)
	orDuration(&r.ReadyTimeout, 2*time.Minute)
	orInt(&r.StartAttempts, 3)
	orDuration(&r.SnapshotInterval, time.Second)
	orDuration(&r.ControlTimeout, 2*time.Second)
	orDuration(&r.UnreachableTimeout, time.Minute)
	orDuration(&r.StartLead, 750*time.Millisecond)
	if r.TTLAfterFinished == nil {
		r.TTLAfterFinished = &metav1.Duration{Duration: time.Hour}
	}
}

func orString(p *string, v string) {
	if *p == "" {
		*p = v
	}
}

func orInt(p *int, v int) {
	if *p == 0 {
		*p = v
	}
}

func orTrue(p **bool) {
	if *p == nil {
		v := true
		*p = &v
	}
}

func orDuration(p *metav1.Duration, v time.Duration) {
	if p.Duration == 0 {
		p.Duration = v
	}
}
