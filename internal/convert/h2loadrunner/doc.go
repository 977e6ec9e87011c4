// Package h2loadrunner turns configurations of h2loadrunner (JSON) into LoadTests. docs/reference/convert.md lists the
// result of each field.
package h2loadrunner
