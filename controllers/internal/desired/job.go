package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// JobInput is all that a Job depends on.
type JobInput struct {
	LoadTest *v1alpha1.LoadTest
	Runner   *configv1alpha1.Runner
	// PlanDigest is that of the plan that the runners execute.
	PlanDigest string
	// Attempt numbers the Jobs of the LoadTest from 1.
	Attempt int
}

// Job is the Indexed Job of an attempt. Each shard is an index with one pod. A pod that fails is
// never replaced and ends no other one: backoffLimitPerIndex 0 confines a failure to its index,
// and without maxFailedIndexes the others go on.
func Job(in JobInput) (*batchv1.Job, error) {
	pods, err := podTemplate(in)
	if err != nil {
		return nil, err
	}
	shards := in.LoadTest.Spec.Runner.Shards
	job := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: meta(in.LoadTest, JobName(in.LoadTest, in.Attempt), ComponentRunner),
		Spec: batchv1.JobSpec{
			CompletionMode:       ptr.To(batchv1.IndexedCompletion),
			Completions:          &shards,
			Parallelism:          &shards,
			BackoffLimitPerIndex: ptr.To[int32](0),
			PodReplacementPolicy: ptr.To(batchv1.Failed),
			Template:             *pods,
		},
	}
	// A LoadTest that is deleted in the foreground stays until its pods have ended.
	job.OwnerReferences[0].BlockOwnerDeletion = ptr.To(true)
	hash, err := templateHash(pods)
	if err != nil {
		return nil, err
	}
	job.Labels = inherited(in.LoadTest.Labels, in.Runner.InheritLabels)
	maps.Copy(job.Labels, labels(in.LoadTest, ComponentRunner))
	job.Annotations = inherited(in.LoadTest.Annotations, in.Runner.InheritAnnotations)
	maps.Copy(job.Annotations, map[string]string{
		AnnotationAttempt:    strconv.Itoa(in.Attempt),
		AnnotationGeneration: strconv.FormatInt(in.LoadTest.Generation, 10),
		AnnotationPlan:       PlanName(in.LoadTest, in.PlanDigest),
		AnnotationPlanDigest: in.PlanDigest,
		AnnotationTemplate:   hash,
	})
	return job, nil
}

func templateHash(pods *corev1.PodTemplateSpec) (string, error) {
	raw, err := json.Marshal(pods)
	if err != nil {
		return "", fmt.Errorf("encoding the pod template: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8]), nil
}

// Apply is the Job for server-side apply: what the builder did not set is absent, so that it
// stays nobody's.
func Apply(job *batchv1.Job) (*batchv1ac.JobApplyConfiguration, error) {
	raw, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("encoding the Job: %w", err)
	}
	out := &batchv1ac.JobApplyConfiguration{}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("decoding the Job: %w", err)
	}
	out.Status = nil
	return out, nil
}

// ApplyScale gives a Job another number of indices. Completions and parallelism of an Indexed Job may
// only change together; those that are less are taken away from the end. The UID makes it fail when the Job
// has been replaced.
func ApplyScale(job *batchv1.Job, shards int32) *batchv1ac.JobApplyConfiguration {
	out := jobOf(job)
	out.Spec = &batchv1ac.JobSpecApplyConfiguration{Completions: &shards, Parallelism: &shards}
	return out
}

// jobOf names a Job for server-side apply.
func jobOf(job *batchv1.Job) *batchv1ac.JobApplyConfiguration {
	return &batchv1ac.JobApplyConfiguration{
		TypeMetaApplyConfiguration: metav1ac.TypeMetaApplyConfiguration{
			APIVersion: ptr.To("batch/v1"), Kind: ptr.To("Job"),
		},
		ObjectMetaApplyConfiguration: &metav1ac.ObjectMetaApplyConfiguration{
			Namespace: &job.Namespace, Name: &job.Name, UID: &job.UID,
		},
	}
}
