package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReadyOnlyWhenBothStoresHaveAnswered(t *testing.T) {
	for name, env := range map[string]string{
		"MongoDB is away": "MONGODB_URI=mongodb://" + freeAddress(t) + "/?serverSelectionTimeoutMS=500",
		"Redis is away":   "REDIS_URL=redis://" + freeAddress(t),
	} {
		t.Run(name, func(t *testing.T) {
			p := launch(t, []string{env})
			eventually(t, func() error { return p.probe("/healthz", http.StatusOK) })
			// It stays unready for as long as it takes to see that it tried and failed.
			eventually(t, func() error { return p.probe("/readyz", http.StatusInternalServerError) })
			eventually(t, func() error {
				if !strings.Contains(p.log.String(), "waiting for the stores") {
					return p.probe("/never", http.StatusOK)
				}
				return nil
			})
			must(t, p.probe("/readyz", http.StatusInternalServerError))
		})
	}
}

func TestMetricsAreForThoseWhoMayReadThem(t *testing.T) {
	p := startManager(t)
	ns := newNamespace(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "scraper", Namespace: ns}}
	must(t, c.Create(t.Context(), account))
	token, err := tokenFor(t.Context(), account)
	must(t, err)

	status := func(token string) (code int) {
		t.Helper()
		eventually(t, func() (err error) { // the port opens a moment after the probes
			code, _, err = p.scrape(token)
			return err
		})
		return code
	}
	if got := status(""); got != http.StatusUnauthorized {
		t.Errorf("a stranger gets %d, want 401", got)
	}
	if got := status(token); got != http.StatusForbidden {
		t.Errorf("a client without the right gets %d, want 403", got)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ns + "-scraper"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "recoup-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "scraper", Namespace: ns}},
	}
	must(t, c.Create(t.Context(), binding))
	t.Cleanup(func() { must(t, c.Delete(background, binding)) })
	eventually(t, func() error {
		_, body, err := p.scrape(token)
		if err == nil && !strings.Contains(body, "recoup_retry_lane_entries") {
			return fmt.Errorf("the metrics don't have the lane's depth: %.300s", body)
		}
		return err
	})
}

func TestAManagerStopsInGoodOrder(t *testing.T) {
	p := startManager(t)
	began := time.Now()
	must(t, p.stop())
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}
