package desired

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TLS is the Secret that is mounted into the runners of a run. It is made once and never read
// back.
func TLS(lt *v1alpha1.LoadTest, files map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: meta(lt, TLSName(lt), ComponentRunner),
		Immutable:  ptr.To(true),
		Type:       corev1.SecretTypeTLS,
		Data:       files,
	}
}
