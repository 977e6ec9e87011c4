// Package convert has the command convert. The converters are in internal/convert.
package convert

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

const convertLong = `Convert the configuration of another tool into a manifest.

h2surge writes the manifest to standard output or to --output-file: a LoadTest, and the
ConfigMaps and Secrets that it refers to, as "h2surge run -f" reads them. Where the
meaning changes, the manifest has a comment, and standard error has a line: the field or
flag, a colon, and the change. docs/reference/convert.md lists every field.

Write the flags of curl after --, so that h2surge does not read them as its own.
"convert curl -" reads a line that a browser copied ("copy as cURL"). For a command line
of h2load, wrk or ab, use "h2surge run FLAGS URL --dry-run", which prints a manifest.

Exit codes:
  0  converted, with or without warnings
  1  bad input: standard error has a line for each part that cannot be converted
  5  h2surge could not write the result`

const convertExample = `  h2surge convert h2loadrunner config.json > loadtest.yaml
  h2surge convert curl -- -H 'accept: text/plain' -d a=b https://shop:8443/items
  h2surge convert curl - < copied.txt > loadtest.yaml
  h2surge convert har --think shop.har
  h2surge convert openapi --target http://pcf:8080 --resources TS29514.yaml
  h2surge convert proto https://orders.example > protos.yaml
  h2surge convert maock server.json > rules.yaml && h2surge target -f rules.yaml`

// convertOptions are the flags of all conversions.
type convertOptions struct {
	output string
	name   string
}

// NewCommand returns the command convert.
func NewCommand() *cobra.Command {
	o := &convertOptions{}
	cmd := &cobra.Command{
		Use:     "convert",
		Short:   "Convert another tool's configuration into a manifest",
		Long:    convertLong,
		Example: convertExample,
	}
	command.Group(cmd)
	flags := cmd.PersistentFlags()
	flags.SortFlags = false
	flags.StringVar(&o.output, "output-file", "", "`file` to write to, instead of standard output")
	flags.StringVar(&o.name, "name", "", "`name` of the LoadTest (default that of the input)")
	cmd.AddCommand(o.tools()...)
	return cmd
}

// named is what conversions share. name is the default of --name.
func (o *convertOptions) named(name string, read convert.Reader) convert.Options {
	if o.name != "" {
		name = o.name
	}
	return convert.Options{Name: name, Read: read}
}

// finish writes warnings and the manifest, or what is wrong.
func (o *convertOptions) finish(cmd *cobra.Command, out []byte, warnings []string, err error) error {
	for _, w := range warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), mask.Line(w))
	}
	if err != nil {
		return command.Exit(verdict.ExitUsage, strings.Split(err.Error(), "\n")...)
	}
	if o.output == "" {
		_, err := cmd.OutOrStdout().Write(out)
		return err
	}
	if err := save(o.output, out); err != nil {
		return command.Failf("--output-file: %v", err)
	}
	return nil
}

// save writes a manifest to a file. Only its owner can read one with a Secret.
func save(name string, manifest []byte) error {
	if !strings.Contains(string(manifest), "\nkind: Secret\n") {
		return os.WriteFile(name, manifest, 0o644)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	// A file that exists keeps its mode. A device or a pipe has no content to protect.
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = f.Chmod(0o600)
	}
	if err == nil {
		_, err = f.Write(manifest)
	}
	return errors.Join(err, f.Close())
}

// maxInput bounds what is read of one file.
const maxInput = 64 << 20

// input reads the file of a conversion; - is standard input.
func input(cmd *cobra.Command, name string) ([]byte, error) {
	content, err := readFile(cmd.InOrStdin(), "", name)
	if err != nil {
		return nil, command.Usagef("%v", err)
	}
	return content, nil
}

// inDirOf reads the files that an input names. Their paths are relative to the directory of the input.
func inDirOf(name string) convert.Reader {
	return func(other string) ([]byte, error) {
		if other == "-" {
			return nil, errors.New("standard input is not allowed here")
		}
		return readFile(nil, filepath.Dir(name), other)
	}
}

// readFile reads a file, or standard input where there is one.
func readFile(stdin io.Reader, dir, name string) ([]byte, error) {
	if name == "-" {
		return limited("standard input", stdin)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	// What an input names must be a file: texts are tried as names, and opening a pipe would wait.
	if info.IsDir() || stdin == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return limited(name, f)
}

func limited(name string, r io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(content) > maxInput {
		err = fmt.Errorf("%s has more than %d bytes", name, maxInput)
	}
	return content, err
}

// stem is the name of a file without directory and extension.
func stem(name string) string {
	base := filepath.Base(name)
	if name == "-" {
		return ""
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}
