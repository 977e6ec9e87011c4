// Package h2loadrunner turns configurations of h2loadrunner (JSON) into LoadTests. docs/convert.md
// says what becomes of each field.
package h2loadrunner
