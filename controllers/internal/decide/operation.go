package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// Object is an object of the API server.
type Object interface {
	metav1.Object
	runtime.Object
}

// Operation is a write that follows from what a pass knows. Either Apply or Delete is set, or DropCounts.
type Operation struct {
	// What names the write in messages, such as "Job pcf-1 with 3 indices". The operator remembers a refusal of the API
	// server by it.
	What string
	// Apply is applied on the server's side, by Manager. Force takes fields over from other managers; without it, what a
	// user changed stays.
	Apply   runtime.ApplyConfiguration
	Manager string
	Force   bool
	// Delete is deleted, unless it is gone. If it has a UID, another object of its name stays. Grace is in seconds; nil:
	// the default of the kind.
	Delete Object
	Grace  *int64
	// Foreground keeps what is deleted until its dependents are gone, such as a Job until its pods have ended.
	Foreground bool
	// DropCounts deletes all stored counts of the run.
	DropCounts bool
	// Once keeps a process from repeating the operation until Once differs; empty: each pass makes it.
	Once string
}

// gone is Once of a deletion of what the run does not create again.
const gone = "gone"

// late is Once of a deletion of what a former operator can have created: its request can arrive after the end, so the
// deletion is repeated when podGrace has passed.
func late(f *run.Facts, finished time.Time) string {
	if left := finished.Add(f.Config.Report.PodGrace.Duration).Sub(f.Now); left > 0 {
		f.Again(left)
		return "at the end"
	}
	return gone
}

// DeleteJobs deletes Jobs and their pods in the background. One that is being deleted stays as it is: its deletion can
// wait for its pods.
func DeleteJobs(jobs ...*batchv1.Job) (out []Operation) {
	for _, job := range jobs {
		if job.DeletionTimestamp == nil {
			out = append(out, Operation{What: "the deletion of Job " + job.Name, Delete: job})
		}
	}
	return out
}

// DeleteFormer deletes the Jobs of earlier attempts.
func DeleteFormer(f *run.Facts) []Operation { return DeleteJobs(f.FormerJobs...) }

// deleteSecret deletes the private keys of a run with its end, and not only with its LoadTest. The runners read them
// when they started. The operator cannot read the owner of a Secret, so the run record has the UID of the one that the
// operator created. Without it, the name must do, which has a part of the UID of the LoadTest: the record was deleted,
// is that of an earlier version, or could not be stored after the creation.
func deleteSecret(f *run.Facts, finished time.Time) Operation {
	once := gone
	if f.Record.Secret == "" {
		once = late(f, finished)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.LoadTest.Namespace,
		Name: desired.TLSName(f.LoadTest), UID: f.Record.Secret}}
	return Operation{What: "the deletion of Secret " + secret.Name, Delete: secret, Once: once}
}
