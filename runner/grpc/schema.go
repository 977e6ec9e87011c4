package grpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// File is the content of a proto file, or a FileDescriptorSet as protoc --descriptor_set_out and buf build write it.
type File struct {
	// Name is what errors say. An import of "a/b.proto" is the file whose name ends with it, or else the one whose last
	// element is b.proto. If the import is a well-known one, the latter must also have its package.
	Name    string
	Content []byte
}

// Schema has the services of some files, and of what they import. It does not change.
type Schema struct {
	files *protoregistry.Files
	types *dynamicpb.Types
}

// NewSchema compiles proto files and reads descriptor sets. Imports of google/protobuf and of the files in googleapis
// need no file.
func NewSchema(files []File) (*Schema, error) {
	found := new(protoregistry.Files)
	var sources []File
	for _, f := range files {
		if path.Ext(f.Name) == ".proto" {
			sources = append(sources, f)
		} else if err := addSet(found, f); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if err := addSources(found, sources); err != nil {
		return nil, err
	}
	return &Schema{files: found, types: dynamicpb.NewTypes(found)}, nil
}

// addSet adds the files of a descriptor set.
func addSet(to *protoregistry.Files, f File) error {
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(f.Content, set); err != nil || len(set.File) == 0 {
		return errors.New("is neither a .proto file nor a FileDescriptorSet")
	}
	addWellKnown(set)
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return fmt.Errorf("is not a complete FileDescriptorSet (write it with --include_imports): %w", err)
	}
	files.RangeFiles(func(d protoreflect.FileDescriptor) bool {
		err = register(to, d)
		return err == nil
	})
	return err
}

// addSources compiles proto files.
func addSources(to *protoregistry.Files, sources []File) error {
	if len(sources) == 0 {
		return nil
	}
	byName := imported(sources)
	c := protocompile.Compiler{Resolver: withWellKnown(&protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(byName),
	})}
	compiled, err := c.Compile(context.Background(), slices.Sorted(maps.Keys(byName))...)
	if errors.Is(err, fs.ErrNotExist) { // an import; the error is not one of a file of the machine
		return errors.New(strings.ReplaceAll(err.Error(), "file does not exist", "it is not among the files; add it"))
	} else if err != nil {
		return err
	}
	for _, d := range compiled {
		if err := register(to, d); err != nil {
			return err
		}
	}
	return nil
}

var importStatement = regexp.MustCompile(`(?m)(?:^|;)\s*import\s+(?:public\s+|weak\s+)?"([^"]+)"`)

// imported returns the contents of files by the name that another file imports them by, or else by their own name: a
// file with two names would define everything twice.
func imported(files []File) map[string]string {
	names := make([]string, len(files))
	for i := range files {
		for _, m := range importStatement.FindAllSubmatch(files[i].Content, -1) {
			if k := find(files, string(m[1])); k >= 0 && names[k] == "" {
				names[k] = string(m[1])
			}
		}
	}
	out := map[string]string{}
	for i, f := range files {
		out[cmp.Or(names[i], f.Name)] = string(f.Content)
	}
	return out
}

var packageStatement = regexp.MustCompile(`(?m)(?:^|;)\s*package\s+([\w.]+)\s*;`)

// pack returns the package of a proto file, or "".
func (f File) pack() string {
	if m := packageStatement.FindSubmatch(f.Content); m != nil {
		return string(m[1])
	}
	return ""
}

// find returns the index of the file that an import means, or -1.
func find(files []File, name string) int {
	known := wellKnown(name)
	for _, same := range []func(File) bool{
		func(f File) bool { return f.Name == name || strings.HasSuffix(f.Name, "/"+name) },
		func(f File) bool {
			return path.Base(f.Name) == path.Base(name) && (known == nil || string(known.Package()) == f.pack())
		},
	} {
		if i := slices.IndexFunc(files, same); i >= 0 {
			return i
		}
	}
	return -1
}

// register adds a file and what it imports. A file that is there stays: one file can be imported under two names.
func register(to *protoregistry.Files, d protoreflect.FileDescriptor) error {
	if _, err := to.FindFileByPath(d.Path()); err == nil {
		return nil
	}
	imports := d.Imports()
	for i := range imports.Len() {
		if err := register(to, imports.Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	return to.RegisterFile(d)
}

// Method is a method of a service.
type Method struct {
	schema *Schema
	method protoreflect.MethodDescriptor
}

// Method finds a method by the full name of its service and its own name.
func (s *Schema) Method(service, name string) (*Method, error) {
	d, err := s.files.FindDescriptorByName(protoreflect.FullName(service))
	found, is := d.(protoreflect.ServiceDescriptor)
	if err != nil || !is {
		return nil, fmt.Errorf("service: there is no %q; %s", service, oneOf("services", s.services()))
	}
	method := found.Methods().ByName(protoreflect.Name(name))
	if method == nil {
		var names []string
		for i := range found.Methods().Len() {
			names = append(names, string(found.Methods().Get(i).Name()))
		}
		return nil, fmt.Errorf("method: %s has no %q; %s", service, name, oneOf("methods", names))
	}
	return &Method{schema: s, method: method}, nil
}

func (s *Schema) services() (names []string) {
	s.files.RangeFiles(func(d protoreflect.FileDescriptor) bool {
		for i := range d.Services().Len() {
			names = append(names, string(d.Services().Get(i).FullName()))
		}
		return true
	})
	slices.Sort(names)
	return names
}

// oneOf lists what is possible, for an error.
func oneOf(what string, names []string) string {
	const most = 8
	if len(names) == 0 {
		return "the files have no " + what
	}
	if len(names) > most {
		names = append(names[:most:most], "...")
	}
	return what + ": " + strings.Join(names, ", ")
}
