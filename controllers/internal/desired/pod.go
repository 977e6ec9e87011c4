package desired

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/ptr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
)

// RunnerContainer is the name of the container that makes the load.
const RunnerContainer = "runner"

const (
	planVolume = "h2surge-plan"
	tlsVolume  = "h2surge-tls"
	// filesVolume is there when the spec takes files from ConfigMaps or Secrets.
	filesVolume = "h2surge-files"
	// schemasVolume and a number are there for each ConfigMap with JSON Schemas.
	schemasVolume = "h2surge-schemas-"
	planDir       = "/etc/h2surge/plan"
	tlsDir        = "/etc/h2surge/tls"
	command       = "/h2surge-runner"

	// terminationGrace lets a runner that is told to end count what is in flight and answer
	// for a last snapshot.
	terminationGrace = 30
)

// podTemplate merges the template of the operator's configuration and then spec.runner.podTemplate over the operator's
// own, and then takes back the fields that are the operator's (see the package comment).
func podTemplate(in JobInput) (*corev1.PodTemplateSpec, error) {
	out := basePod(in)
	out.Labels = inherited(in.LoadTest.Labels, in.Runner.InheritLabels)
	maps.Copy(out.Annotations, inherited(in.LoadTest.Annotations, in.Runner.InheritAnnotations))
	for _, t := range []*runtime.RawExtension{in.Runner.PodTemplate, in.LoadTest.Spec.Runner.PodTemplate} {
		if t == nil || len(t.Raw) == 0 {
			continue
		}
		var err error
		if out, err = mergePod(out, t.Raw); err != nil {
			return nil, err
		}
	}
	enforcePod(out, in)
	runner := &out.Spec.Containers[slices.IndexFunc(out.Spec.Containers, isRunner)]
	enforceRunner(runner, in)
	enforceListeners(out, runner, in.LoadTest)
	addFiles(out, runner, compile.Mounts(&in.LoadTest.Spec))
	addPodFields(runner, compile.PodFields(&in.LoadTest.Spec))
	if cpus := in.LoadTest.Spec.Runner.CPUsPerShard; cpus != nil {
		return out, guarantee(runner, in, *cpus)
	}
	return out, nil
}

// resources are those of the LoadTest, else those of the operator's configuration. These are for runners without
// cpusPerShard: a limit for a pod with a small CPU request would end one with many CPUs.
func resources(in JobInput) *corev1.ResourceRequirements {
	switch runner := &in.LoadTest.Spec.Runner; {
	case runner.Resources != nil:
		return runner.Resources.DeepCopy()
	case runner.CPUsPerShard != nil:
		return &corev1.ResourceRequirements{}
	}
	return in.Runner.Resources.DeepCopy()
}

// inherited returns the entries of have whose key is in names. A name that ends in "/" stands for all
// keys with that prefix.
func inherited(have map[string]string, names []string) map[string]string {
	out := map[string]string{}
	for key, value := range have {
		if slices.ContainsFunc(names, func(name string) bool {
			return key == name || strings.HasSuffix(name, "/") && strings.HasPrefix(key, name)
		}) {
			out[key] = value
		}
	}
	return out
}

func isRunner(c corev1.Container) bool { return c.Name == RunnerContainer }

// basePod passes the pod security standard "restricted". It names no user: the image has a
// numeric one, and OpenShift assigns its own.
func basePod(in JobInput) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			// A moved runner is a lost runner.
			"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
			"karpenter.sh/do-not-disrupt":                    "true",
		}},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken:  ptr.To(false),
			EnableServiceLinks:            ptr.To(false),
			TerminationGracePeriodSeconds: ptr.To[int64](terminationGrace),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   ptr.To(true),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelLoadTest: in.LoadTest.Name}},
			}},
			Containers: []corev1.Container{{
				Name:                     RunnerContainer,
				Image:                    in.Runner.Image,
				ImagePullPolicy:          in.Runner.ImagePullPolicy,
				Resources:                *resources(in),
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false),
					ReadOnlyRootFilesystem:   ptr.To(true),
					RunAsNonRoot:             ptr.To(true),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// mergePod takes the user's bytes as they are: encoding the decoded template would turn fields
// that were not given into nulls, which delete.
func mergePod(base *corev1.PodTemplateSpec, patch []byte) (*corev1.PodTemplateSpec, error) {
	raw, err := json.Marshal(base)
	if err != nil {
		return nil, fmt.Errorf("encoding the pod template: %w", err)
	}
	merged, err := strategicpatch.StrategicMergePatch(raw, patch, corev1.PodTemplateSpec{})
	if err != nil {
		return nil, fmt.Errorf("merging spec.runner.podTemplate: %w", err)
	}
	out := &corev1.PodTemplateSpec{}
	if err := json.Unmarshal(merged, out); err != nil {
		return nil, fmt.Errorf("decoding the merged pod template: %w", err)
	}
	if !slices.ContainsFunc(out.Spec.Containers, isRunner) { // {"containers": null}
		out.Spec.Containers = append(slices.Clone(base.Spec.Containers), out.Spec.Containers...)
	}
	return out, nil
}

func enforcePod(pod *corev1.PodTemplateSpec, in JobInput) {
	pod.Name, pod.Namespace, pod.GenerateName = "", "", ""
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	maps.Copy(pod.Labels, labels(in.LoadTest, ComponentRunner))
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	pod.Spec.AutomountServiceAccountToken = ptr.To(false)
	pod.Spec.ActiveDeadlineSeconds = nil
	pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return ownVolume(v.Name)
	})
	pod.Spec.Volumes = append(pod.Spec.Volumes,
		corev1.Volume{Name: planVolume, VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: PlanName(in.LoadTest, in.PlanDigest)},
				Items:                []corev1.KeyToPath{{Key: KeyPlan, Path: KeyPlan}},
			}}},
		corev1.Volume{Name: tlsVolume, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: TLSName(in.LoadTest)},
		}},
	)
}

// enforceListeners sets the environment variables with the address and the name of the pod, which the URLs of listeners
// have. The hostname of the pod comes from the Job.
func enforceListeners(pod *corev1.PodTemplateSpec, c *corev1.Container, lt *v1alpha1.LoadTest) {
	if len(lt.Spec.Listeners) == 0 {
		return
	}
	ours := []corev1.EnvVar{fromField("POD_IP", "status.podIP")}
	if HasNames(&lt.Spec) {
		pod.Spec.Subdomain = ServiceName(lt)
		ours = append(ours, fromField("JOB_NAME", "metadata.labels['"+batchv1.JobNameLabel+"']"),
			corev1.EnvVar{Name: "LISTENER_DOMAIN", Value: listenerDomain(lt)})
	}
	c.Env = keep(c.Env, func(e corev1.EnvVar) bool {
		return !slices.ContainsFunc(ours, func(o corev1.EnvVar) bool { return o.Name == e.Name })
	}, ours...)
}

func enforceRunner(c *corev1.Container, in JobInput) {
	c.Command = []string{command}
	c.Args = []string{
		"--plan=" + planDir + "/" + KeyPlan,
		"--tls-dir=" + tlsDir,
		fmt.Sprintf("--control-address=:%d", runnerv1alpha1.ControlPort),
		fmt.Sprintf("--metrics-address=:%d", runnerv1alpha1.MetricsPort),
		"--ack-grace=" + Retention(in.LoadTest).String(),
	}
	c.Ports = keep(c.Ports, func(p corev1.ContainerPort) bool { return p.Name != "control" && p.Name != "metrics" },
		corev1.ContainerPort{Name: "control", ContainerPort: runnerv1alpha1.ControlPort, Protocol: corev1.ProtocolTCP},
		corev1.ContainerPort{Name: "metrics", ContainerPort: runnerv1alpha1.MetricsPort, Protocol: corev1.ProtocolTCP})
	c.Env = keep(c.Env, func(e corev1.EnvVar) bool {
		return e.Name != "POD_NAME" && e.Name != "NODE_NAME" && e.Name != "PLAN_DIGEST"
	},
		fromField("POD_NAME", "metadata.name"), fromField("NODE_NAME", "spec.nodeName"), corev1.EnvVar{Name: "PLAN_DIGEST",
			Value: in.PlanDigest})
	c.VolumeMounts = keep(c.VolumeMounts, func(m corev1.VolumeMount) bool { return !reserved(m) },
		corev1.VolumeMount{Name: planVolume, MountPath: planDir, ReadOnly: true},
		corev1.VolumeMount{Name: tlsVolume, MountPath: tlsDir, ReadOnly: true})
	c.LivenessProbe, c.StartupProbe, c.Lifecycle = nil, nil, nil
	c.ReadinessProbe = &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz",
			Port: intstr.FromString("metrics")}},
		PeriodSeconds: 5,
	}
}

// Retention is how long a runner keeps its final snapshot until the operator acknowledges it.
func Retention(lt *v1alpha1.LoadTest) time.Duration {
	if r := lt.Spec.Runner.ResultRetention; r != nil {
		return r.Duration
	}
	return runnerv1alpha1.DefaultResultRetention
}

func ownVolume(name string) bool {
	return name == planVolume || name == tlsVolume || name == filesVolume || strings.HasPrefix(name, schemasVolume)
}

// reserved: of one of our volumes, or where one of ours is mounted, which may be there only once.
func reserved(m corev1.VolumeMount) bool {
	at := path.Clean(m.MountPath)
	return ownVolume(m.Name) || at == planDir || at == tlsDir || at == compile.FilesDir ||
		strings.HasPrefix(at, compile.SchemasDir+"/")
}

// keep returns what the user has added, then what is the operator's.
func keep[T any](have []T, others func(T) bool, ours ...T) []T {
	return append(slices.DeleteFunc(have, func(t T) bool { return !others(t) }), ours...)
}

func fromField(name, fieldPath string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: fieldPath},
	}}
}

// guarantee gives the container whole CPUs and memory, with requests equal to limits, because only a
// Guaranteed pod gets exclusive CPUs. Memory is the limit that the user set, else the request in
// spec.runner.resources, else the operator's memoryPerCPU for each CPU.
func guarantee(c *corev1.Container, in JobInput, cpus int32) error {
	memory, set := c.Resources.Limits[corev1.ResourceMemory]
	if own := in.LoadTest.Spec.Runner.Resources; !set && own != nil {
		memory, set = own.Requests[corev1.ResourceMemory]
	}
	if !set {
		perCPU, err := resource.ParseQuantity(in.Runner.MemoryPerCPU)
		if err != nil {
			return fmt.Errorf("runner.memoryPerCPU of the operator's configuration: %w", err)
		}
		memory = *resource.NewQuantity(perCPU.Value()*int64(cpus), resource.BinarySI)
	}
	for _, list := range []*corev1.ResourceList{&c.Resources.Requests, &c.Resources.Limits} {
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[corev1.ResourceCPU] = *resource.NewQuantity(int64(cpus), resource.DecimalSI)
		(*list)[corev1.ResourceMemory] = memory
	}
	return nil
}
