package chain

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// longest bounds each duration of a plan, and all stages together, so that no instant of a run overflows.
const longest = 10 * 365 * 24 * time.Hour

// checkNumbers returns an error for the first number of a plan that is negative, and for the first duration that is
// longer than longest. The engine relies on this. Its errors begin with a colon or with the field.
func checkNumbers(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return checkNumbers(v.Elem())
		}
	case reflect.Struct:
		return checkFields(v)
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkNumbers(v.Index(i)); err != nil {
				return fmt.Errorf("[%d]%w", i, err)
			}
		}
	case reflect.Int, reflect.Int64:
		d, isDuration := v.Interface().(time.Duration)
		switch {
		case v.Int() < 0:
			return fmt.Errorf(": %v is negative", v)
		case isDuration && d > longest:
			return fmt.Errorf(": %v is longer than %v", d, longest)
		}
	}
	return nil
}

func checkFields(v reflect.Value) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if err := checkNumbers(v.Field(i)); err != nil && f.Name != "Offset" {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return fmt.Errorf(".%s%w", name, err)
		}
	}
	return nil
}

// CheckRates returns why no worker can send the load of the stages.
func CheckRates(rates []rv.Rate) error {
	whole := time.Duration(0)
	for i := range rates {
		if err := rates[i].Check(); err != nil {
			return fmt.Errorf("rates[%d]: %w", i, err)
		}
		if whole += rates[i].Duration; whole > longest {
			return fmt.Errorf("rates[%d].duration: all stages together are longer than %v", i, longest)
		}
	}
	return nil
}
