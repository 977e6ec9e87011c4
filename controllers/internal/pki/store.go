package pki

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SecretName is the Secret of the install CA, in the operator's namespace.
const SecretName = "h2surge-ca"

// The rights on Secrets, apart from creating those of runs (controllers/loadtest), are on this
// one Secret, in the operator's own namespace:
//   - create, once per installation. RBAC cannot bind create to a name, hence a line of its own.
//   - get, at start-up and once an hour, to find what another replica made or renewed.
//   - update, when the CA is renewed.
//
// +kubebuilder:rbac:groups="",resources=secrets,namespace=h2surge-system,verbs=create
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=h2surge-ca,namespace=h2surge-system,verbs=get;update

const (
	// reload is how long what was read is relied upon.
	reload = time.Hour
	// retry is the same after a read that failed.
	retry = time.Minute
	// reloadTimeout is the timeout of reading it again.
	reloadTimeout = 2 * time.Second
)

// Store keeps the Authority in a Secret. It is safe for concurrent use, within a process and
// among replicas: the API server decides which creation or update came first.
type Store struct {
	reader    client.Reader // must not be a cache: the operator may not list Secrets
	writer    client.Writer
	namespace string
	now       func() time.Time

	reading *semaphore.Weighted // guards the fields below: a read takes as long as the API server
	loaded  *Authority
	at      time.Time
}

// NewStore keeps the CA in namespace. reader must read from the API server itself.
func NewStore(reader client.Reader, writer client.Writer, namespace string, now func() time.Time) *Store {
	return &Store{reader: reader, writer: writer, namespace: namespace, now: now, reading: semaphore.NewWeighted(1)}
}

// Get returns the Authority; it makes the CA when there is none and renews it when it is near
// its end.
func (s *Store) Get(ctx context.Context) (*Authority, error) {
	if err := s.reading.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("waiting for the install CA: %w", err)
	}
	defer s.reading.Release(1)
	if s.loaded != nil && s.now().Sub(s.at) < reload {
		return s.loaded, nil
	}
	if s.loaded != nil { // the caller connects to a runner, and others wait for reading
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, reloadTimeout)
		defer cancel()
	}
	a, err := s.load(ctx)
	if err != nil && s.loaded != nil {
		// What we have is good for months; running tests must not suffer from an API server
		// that is away.
		s.at = s.now().Add(retry - reload)
		return s.loaded, nil
	}
	if err != nil {
		return nil, err
	}
	if s.loaded == nil || !s.loaded.current.cert.Equal(a.current.cert) ||
		(s.loaded.previous == nil) != (a.previous == nil) {
		s.loaded = a
	}
	s.at = s.now()
	return s.loaded, nil
}

func (s *Store) load(ctx context.Context) (*Authority, error) {
	secret := &corev1.Secret{}
	err := s.reader.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: SecretName}, secret)
	if apierrors.IsNotFound(err) {
		return s.create(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the install CA: %w", err)
	}
	a, err := decode(secret.Data, s.now)
	if err != nil || !a.due() {
		return a, err
	}
	return s.renew(ctx, secret, a)
}

// create makes the CA, or stores the one in memory again if a user deleted its Secret: running tests have certificates
// of it.
func (s *Store) create(ctx context.Context) (a *Authority, err error) {
	if a = s.loaded; a == nil {
		first, err := newCA(s.now())
		if err != nil {
			return nil, err
		}
		a = newAuthority(first, nil, s.now)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: SecretName,
			Labels: map[string]string{"app.kubernetes.io/name": "h2surge", "app.kubernetes.io/component": "install-ca"},
		},
		Type: corev1.SecretTypeTLS,
	}
	if secret.Data, err = a.encode(); err != nil {
		return nil, err
	}
	err = s.writer.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) { // another replica was faster
		return s.load(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("creating the install CA: %w", err)
	}
	return a, nil
}

// renew relies on the resource version that was read: of two replicas one gets a conflict, and
// reads the other's work at its next try.
func (s *Store) renew(ctx context.Context, secret *corev1.Secret, a *Authority) (*Authority, error) {
	next, err := a.renewed()
	if err != nil {
		return nil, err
	}
	if secret.Data, err = next.encode(); err != nil {
		return nil, err
	}
	if err := s.writer.Update(ctx, secret); err != nil {
		return nil, fmt.Errorf("renewing the install CA: %w", err)
	}
	return next, nil
}
