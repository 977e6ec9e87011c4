// Package storage uploads the reports of tests that ended to an S3-compatible object storage.
package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/render"
)

// Storage is a bucket of an object storage.
type Storage struct {
	cfg    *configv1alpha1.ResultStorage
	client *minio.Client
}

// New returns the storage of a valid configuration. It sends no request.
func New(cfg *configv1alpha1.ResultStorage) (*Storage, error) {
	endpoint, err := url.Parse(cfg.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{},
			&credentials.FileAWSCredentials{}, &credentials.IAM{}}),
		Secure: endpoint.Scheme == "https", Region: cfg.Region,
		MaxRetries: 1, // the operator tries again, and shows that it does
	})
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	return &Storage{cfg: cfg, client: client}, nil
}

// file is a file of a report. The last one is complete only after all others.
type file struct {
	name, contentType string
	content           []byte
}

// Upload stores the report of a run as HTML, CSV and JSON, and returns the URL of the HTML. A second upload of a run
// replaces the files of the first. report is the JSON that the ConfigMap of the report has.
func (s *Storage) Upload(ctx context.Context, run configv1alpha1.ResultRun, encoded []byte,
	decoded *runnerv1alpha1.Report) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout.Duration)
	defer cancel()
	files, err := filesOf(encoded, decoded)
	if err != nil {
		return "", err
	}
	folder := s.cfg.Folder(run)
	for _, f := range files {
		_, err := s.client.PutObject(ctx, s.cfg.Bucket, folder+"/"+f.name, bytes.NewReader(f.content), int64(len(f.content)),
			minio.PutObjectOptions{ContentType: f.contentType})
		if err != nil {
			return "", fmt.Errorf("%s/%s: %w", folder, f.name, clear(err))
		}
	}
	return s.client.EndpointURL().JoinPath(s.cfg.Bucket, folder, "report.html").String(), nil
}

func filesOf(encoded []byte, decoded *runnerv1alpha1.Report) ([]file, error) {
	var page, table bytes.Buffer
	if err := render.HTML(&page, decoded); err != nil {
		return nil, fmt.Errorf("writing the HTML report: %w", err)
	}
	if err := render.CSV(&table, decoded); err != nil {
		return nil, fmt.Errorf("writing the CSV: %w", err)
	}
	return []file{
		{"report.html", "text/html; charset=utf-8", page.Bytes()},
		{"report.csv", "text/csv; charset=utf-8", table.Bytes()},
		{"report.json", "application/json", encoded},
	}, nil
}

// clear adds the error code of the storage, which the message of some storages lacks.
func clear(err error) error {
	var answer minio.ErrorResponse
	if errors.As(err, &answer) && answer.Code != "" {
		return fmt.Errorf("%s: %w", answer.Code, err)
	}
	return err
}
