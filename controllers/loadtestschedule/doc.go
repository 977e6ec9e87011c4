// Package loadtestschedule creates LoadTests at the times of LoadTestSchedules.
package loadtestschedule

// loadtestschedules get, list and watch: the cache of the controller.
// loadtestschedules/status patch: the one write of a pass to the schedule.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtestschedules,verbs=get;list;watch
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtestschedules/status,verbs=patch

// loadtests create: the run of a scheduled time. delete: historyLimits and concurrencyPolicy Replace.
//
// +kubebuilder:rbac:groups=h2surge.io,resources=loadtests,verbs=create;delete;get;list;watch
