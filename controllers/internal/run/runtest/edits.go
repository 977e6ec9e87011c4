package runtest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// PerSecond is a stage with a rate.
func PerSecond(n int64) runnerv1alpha1.Rate {
	return runnerv1alpha1.Rate{Name: "hold", Count: n, Period: time.Second, Duration: time.Minute}
}

// PerMinute is a stage with a rate in a longer period.
func PerMinute(n int64) runnerv1alpha1.Rate {
	return runnerv1alpha1.Rate{Name: "hold", Count: n, Period: time.Minute, Duration: time.Minute}
}

func value(r runnerv1alpha1.Rate) record.Value {
	return record.Value{Rate: &record.RatesOf([]runnerv1alpha1.Rate{r})[0]}
}

// RateEdited is a change of the rate of a stage.
func RateEdited(generation int64, field string, stage int, from, to runnerv1alpha1.Rate) record.Edit {
	return record.Edit{Generation: generation, Time: metav1.NewMicroTime(Now), Field: field, Stage: &stage,
		From: value(from), To: value(to)}
}

// ShardsEdited is a change of the number of shards.
func ShardsEdited(generation int64, from, to int) record.Edit {
	return record.Edit{
		Generation: generation, Time: metav1.NewMicroTime(Now), Field: run.FieldShards,
		From: record.Value{Shards: from}, To: record.Value{Shards: to},
	}
}

// SuspendEdited is a change of spec.suspend.
func SuspendEdited(generation int64, to bool) record.Edit {
	return record.Edit{
		Generation: generation, Time: metav1.NewMicroTime(Now), Field: run.FieldSuspend,
		From: record.Value{Suspended: !to}, To: record.Value{Suspended: to},
	}
}
