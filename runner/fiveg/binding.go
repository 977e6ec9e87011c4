package fiveg

import (
	"bytes"

	"github.com/h2surge/h2surge/internal/octet"
)

// routingParameters are the parameters that Binding and Routing-Binding have in common (3GPP TS 29.500 5.2.3.2.5).
var routingParameters = [...]string{"bl", "nfinst", "nfset", "nfservinst", "nfserviceset", "servname", "backupamfinst",
	"backupnf"}

// AppendRoutingBinding appends the value of 3gpp-Sbi-Routing-Binding for one of 3gpp-Sbi-Binding. A Binding is a list
// of indications for several purposes; the first that is not for callbacks counts. If the list has none, the result is
// empty.
func AppendRoutingBinding(dst, binding []byte) []byte {
	for len(binding) > 0 {
		var indication []byte
		if indication, binding = octet.CutUnquoted(binding, ','); isForCallbacks(indication) {
			continue
		}
		at := len(dst)
		for len(indication) > 0 {
			var parameter []byte
			parameter, indication = octet.CutUnquoted(indication, ';')
			if !isRoutingParameter(parameter) {
				continue
			}
			if len(dst) > at {
				dst = append(dst, "; "...)
			}
			dst = append(dst, octet.TrimBlanks(parameter)...)
		}
		if len(dst) > at {
			return dst
		}
	}
	return dst
}

func isForCallbacks(indication []byte) bool {
	for len(indication) > 0 {
		var parameter []byte
		parameter, indication = octet.CutUnquoted(indication, ';')
		name, value, _ := bytes.Cut(octet.TrimBlanks(parameter), equalsSign)
		if octet.EqualFold(name, scopeName) && octet.EqualFold(value, callbackScope) {
			return true
		}
	}
	return false
}

var equalsSign, scopeName, callbackScope = []byte("="), []byte("scope"), []byte("callback")

func isRoutingParameter(parameter []byte) bool {
	name, _, found := bytes.Cut(octet.TrimBlanks(parameter), equalsSign)
	for _, known := range routingParameters {
		if found && len(name) == len(known) && octet.EqualFold(name, []byte(known)) {
			return true
		}
	}
	return false
}
