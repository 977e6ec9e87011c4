// Package changes has the predicates that more than one controller needs.
package changes

import (
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// OfSpec selects changes of the spec. The status that the operator writes does not change the generation, and needs no
// pass.
func OfSpec() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: Replaced})
}

// Replaced returns whether an update shows another object. After an interruption of the watch, an object that was
// deleted and created again is an update with another UID. Its generation can be that of the object before.
func Replaced(e event.UpdateEvent) bool { return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() }
