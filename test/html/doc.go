// Package html looks at the HTML report as its readers do: in a browser.
package html
