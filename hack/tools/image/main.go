// Command image packs directories into a container image, without a container engine.
//
//	image -o dist/h2surge.tar -t h2surge:dev -entrypoint /h2surge-manager \
//	    linux/amd64=dist/root/linux/amd64 linux/arm64=dist/root/linux/arm64
//	image -list dist/h2surge.tar     # prints the files and the configuration of an image for one platform
//
// Each argument is a platform and the directory whose files are the image's root. With one
// platform the output is an archive that "ctr images import" and "docker load" take; with several
// it is an OCI layout (a directory, or a tar when the name ends in .tar) with an index. The same
// files give the same bytes, whenever and wherever they were built.
package main

import (
	"archive/tar"
	"bytes"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// epoch is the time of every file and of the image itself: bytes must not depend on the clock.
var epoch = time.Unix(0, 0).UTC()

type options struct {
	output, tag, entrypoint, user, version string
	// files is "os/arch=directory", one for each platform.
	files []string
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("image: ")
	var o options
	flag.StringVar(&o.output, "o", "", "where to write: a .tar, or a directory for an OCI layout")
	flag.StringVar(&o.tag, "t", "", "name:tag of the image")
	flag.StringVar(&o.entrypoint, "entrypoint", "", "path of the program to start")
	flag.StringVar(&o.user, "user", "65532:65532", "uid:gid the program runs as")
	flag.StringVar(&o.version, "version", "", "value of the label org.opencontainers.image.version")
	list := flag.String("list", "", "an image archive to print")
	flag.Parse()
	if *list != "" {
		if err := printImage(os.Stdout, *list); err != nil {
			log.Fatalf("%s: %v", *list, err)
		}
		return
	}
	o.files = flag.Args()
	if err := run(o); err != nil {
		log.Fatal(err)
	}
}

func run(o options) error {
	if o.output == "" || o.tag == "" || o.entrypoint == "" || len(o.files) == 0 {
		return fmt.Errorf("want -o, -t, -entrypoint and at least one os/arch=directory")
	}
	ref, err := name.NewTag(o.tag, name.WithDefaultRegistry("docker.io"))
	if err != nil {
		return fmt.Errorf("tag: %w", err)
	}
	images := make([]v1.Image, len(o.files))
	for i, f := range o.files {
		platform, dir, ok := strings.Cut(f, "=")
		if !ok {
			return fmt.Errorf("%q: want os/arch=directory", f)
		}
		if images[i], err = build(o, platform, dir); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(o.output), 0o755); err != nil {
		return err
	}
	if len(images) == 1 {
		err = tarball.WriteToFile(o.output, ref, images[0])
	} else {
		err = writeIndex(o.output, ref, images)
	}
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s for %s\n", o.output, o.tag, strings.Join(platforms(o.files), ", "))
	return nil
}

func platforms(files []string) []string {
	var out []string
	for _, f := range files {
		p, _, _ := strings.Cut(f, "=")
		out = append(out, p)
	}
	return out
}

// build makes the image of one platform: a single layer from scratch.
func build(o options, platform, dir string) (v1.Image, error) {
	p, err := v1.ParsePlatform(platform)
	if err != nil {
		return nil, err
	}
	content, err := layer(dir)
	if err != nil {
		return nil, err
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
	if err != nil {
		return nil, err
	}
	img, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:   l,
		History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "hack/tools/image"},
	})
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(img, config(img, o, p))
}

func config(img v1.Image, o options, p *v1.Platform) *v1.ConfigFile {
	c, err := img.ConfigFile()
	if err != nil { // only possible for an image that came from elsewhere
		panic(err)
	}
	c = c.DeepCopy()
	c.Created = v1.Time{Time: epoch}
	c.OS, c.Architecture, c.Variant = p.OS, p.Architecture, p.Variant
	c.Config.Entrypoint = []string{o.entrypoint}
	c.Config.User = o.user
	c.Config.WorkingDir = "/"
	c.Config.Env = []string{"PATH=/"}
	c.Config.Labels = map[string]string{
		"org.opencontainers.image.title":    "h2surge",
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.source":   "https://github.com/h2surge/h2surge",
	}
	if o.version != "" {
		c.Config.Labels["org.opencontainers.image.version"] = o.version
	}
	return c
}

// layer is an uncompressed tar of what is in dir, sorted, with neither times nor owners.
func layer(dir string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	empty := true
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return addDirectory(w, name+"/", info.Mode())
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory", name)
		}
		empty = false
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		return add(w, name, fileMode(info.Mode()), b)
	})
	if err == nil && empty {
		err = fmt.Errorf("%s holds no file", dir)
	}
	if err != nil {
		return nil, err
	}
	return out.Bytes(), w.Close()
}

// fileMode does not depend on the umask of who built the file.
func fileMode(m fs.FileMode) int64 {
	if m&0o111 != 0 {
		return 0o755
	}
	return 0o644
}

func addDirectory(w *tar.Writer, name string, m fs.FileMode) error {
	mode := int64(0o755)
	if m&fs.ModeSticky != 0 {
		mode = 0o1777
	}
	return w.WriteHeader(&tar.Header{Name: name, Mode: mode, ModTime: epoch, Typeflag: tar.TypeDir,
		Format: tar.FormatUSTAR})
}

func files(dir string) ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, path)
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

func add(w *tar.Writer, name string, mode int64, content []byte) error {
	h := &tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: epoch, Typeflag: tar.TypeReg,
		Format: tar.FormatUSTAR}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

// writeIndex writes an OCI layout with one index over all platforms.
func writeIndex(output string, ref name.Tag, images []v1.Image) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, img := range images {
		c, err := img.ConfigFile()
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: c.OS, Architecture: c.Architecture, Variant: c.Variant}},
		})
	}
	dir := output
	if strings.HasSuffix(output, ".tar") {
		tmp, err := os.MkdirTemp(filepath.Dir(output), "layout-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(tmp) }()
		dir = tmp
	}
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	annotations := map[string]string{
		"io.containerd.image.name":          ref.Name(),
		"org.opencontainers.image.ref.name": ref.TagStr(),
	}
	if err := p.AppendIndex(index, layout.WithAnnotations(annotations)); err != nil {
		return err
	}
	if dir == output {
		return nil
	}
	return tarDirectory(output, dir)
}

func tarDirectory(output, dir string) error {
	names, err := files(dir)
	if err != nil {
		return err
	}
	f, err := os.Create(output)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	for _, n := range names {
		b, err := os.ReadFile(filepath.Join(dir, n))
		if err != nil {
			return err
		}
		if err := add(w, n, 0o644, b); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}
