package desired

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Lock returns the lock of a LoadTest, without a holder. No LoadTest owns it.
func Lock(lt *v1alpha1.LoadTest) *v1alpha1.LoadTestLock {
	return &v1alpha1.LoadTestLock{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "LoadTestLock"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: lt.Namespace, Name: lt.Spec.Lock,
			Labels: map[string]string{LabelName: Application, LabelComponent: "lock", LabelManagedBy: Application},
		},
	}
}
