package desired

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// HasNames returns whether the URLs of listeners have the names of pods: certificates are for names, and TS 29.500 asks
// for names in https URIs. The name of a pod leads to its first network, so a listener on another interface has an
// address.
func HasNames(spec *v1alpha1.LoadTestSpec) bool {
	for i := range spec.Listeners {
		if l := &spec.Listeners[i]; l.TLS != nil && l.Interface == "" {
			return true
		}
	}
	return false
}

// ServiceName names the Service that gives the pods names. A certificate must be for names below it, so it has no part
// that changes. It begins with a letter (RFC 1035 2.3.1), which the name of a LoadTest need not.
func ServiceName(lt *v1alpha1.LoadTest) string { return "listeners-" + lt.Name }

// listenerDomain is the name of the Service in the cluster.
func listenerDomain(lt *v1alpha1.LoadTest) string {
	return ServiceName(lt) + "." + lt.Namespace + ".svc"
}

// Service is the headless Service of the runner pods: the name of shard 2 of Job pcf-1 is
// pcf-1-2.listeners-pcf.NAMESPACE.svc. It also names pods that are not ready, because notifications can come before the
// load.
func Service(lt *v1alpha1.LoadTest) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta(lt, ServiceName(lt), ComponentRunner),
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			Selector:                 RunnerLabels(lt),
			PublishNotReadyAddresses: true,
		},
	}
}
