package desired

import (
	"strconv"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Labels of everything that a run owns.
// FieldManager is the field manager of what the operator applies.
const FieldManager = "h2surge"

const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelComponent = "app.kubernetes.io/component"
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// LabelLoadTest is the name of the LoadTest.
	LabelLoadTest = "h2surge.io/loadtest"

	// Application is the value of LabelName and of LabelManagedBy. The operator watches only
	// what carries the latter.
	Application = "h2surge"
)

// Values of LabelComponent.
const (
	ComponentRunner = "runner"
	ComponentPlan   = "plan"
	ComponentRun    = "run"
	ComponentReport = "report"
)

// Annotations of a run's Job. They are for people: the operator reads the run record.
const (
	// AnnotationAttempt numbers the Jobs of a LoadTest from 1.
	AnnotationAttempt = "h2surge.io/attempt"
	// AnnotationGeneration is the generation of the spec that the Job was made for.
	AnnotationGeneration = "h2surge.io/generation"
	// AnnotationPlan names the ConfigMap of the plan; AnnotationPlanDigest is the SHA-256 of the plan's canonical bytes.
	AnnotationPlan       = "h2surge.io/plan"
	AnnotationPlanDigest = "h2surge.io/plan-digest"
	// AnnotationTemplate is a hash of the pod template: it is in the Job, but not in the plan.
	AnnotationTemplate = "h2surge.io/template-hash"
)

// Keys in ConfigMaps.
const (
	KeyPlan     = "plan.json.gz"
	KeyWarnings = "warnings.txt"
)

// Names are derived from the LoadTest's, which has at most 50 characters; a Job's name, a dash
// and an index must fit into the 63 of a host name.

// PlanName names the ConfigMap of a plan. Another plan needs another name, for the ConfigMap is
// immutable.
func PlanName(lt *v1alpha1.LoadTest, digest string) string { return lt.Name + "-plan-" + digest[:10] }

// JobName names the Job of an attempt.
func JobName(lt *v1alpha1.LoadTest, attempt int) string {
	return lt.Name + "-" + strconv.Itoa(attempt)
}

// TLSName names the Secret with the runners' certificate. The UID makes it nobody else's: the
// operator may not read Secrets, so it could not tell a foreign one from its own.
func TLSName(lt *v1alpha1.LoadTest) string { return lt.Name + "-tls-" + string(lt.UID)[:8] }

// RunName names the run record. The UID keeps it apart from that of an earlier LoadTest of the same name.
func RunName(lt *v1alpha1.LoadTest) string { return lt.Name + "-run-" + string(lt.UID)[:8] }

// ReportName names the ConfigMap of the report.
func ReportName(lt *v1alpha1.LoadTest) string { return lt.Name + "-report" }

// RunnerLabels select the runner pods of a LoadTest.
func RunnerLabels(lt *v1alpha1.LoadTest) map[string]string {
	return map[string]string{LabelLoadTest: lt.Name, LabelComponent: ComponentRunner}
}

func labels(lt *v1alpha1.LoadTest, component string) map[string]string {
	return map[string]string{
		LabelName:      Application,
		LabelInstance:  lt.Name,
		LabelComponent: component,
		LabelManagedBy: Application,
		LabelLoadTest:  lt.Name,
	}
}
