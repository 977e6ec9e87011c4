// Package convert makes manifests of what was written for other tools. Its subpackages read one
// format each and fill a Draft, which gathers warnings, files and mistakes, and writes the YAML.
package convert
