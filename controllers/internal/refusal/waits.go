package refusal

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// MaxWait is how long a controller waits at most before it repeats what failed.
const MaxWait = 30 * time.Second

// firstWait is the wait after the first failure, which is a conflict most of the time.
const firstWait = 5 * time.Millisecond

// Waits are the times after passes that failed: twice as long after each. With the default of controller-runtime, an
// object waits up to 16 minutes, also a minute after the first failure: each pass that an event causes fails, too.
func Waits() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstWait, MaxWait)
}
