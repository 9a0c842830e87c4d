package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

func TestKeyNamesVersionAndInputs(t *testing.T) {
	g := NewWithT(t)
	key := artifact{name: "etcd", version: "3.7.3", inputs: []string{"a", "bc"}}.key()
	g.Expect(key).To(MatchRegexp(`^etcd-3\.7\.3-[0-9a-f]{12}$`))
	g.Expect(artifact{name: "etcd", version: "3.7.3", inputs: []string{"a", "bc"}}.key()).To(Equal(key))
	g.Expect(artifact{name: "etcd", version: "3.7.3", inputs: []string{"ab", "c"}}.key()).NotTo(Equal(key))
	g.Expect(artifact{name: "etcd", version: "3.7.4", inputs: []string{"a", "bc"}}.key()).NotTo(Equal(key))
}

func TestAnArtifactIsMadeOnceForAll(t *testing.T) {
	g := NewWithT(t)
	cache := t.TempDir()
	made := 0 // needs no lock: the cache's own lock is what is tested
	a := artifact{name: "thing", version: "1", make: func(_ context.Context, into, _ string) error {
		made++
		return os.WriteFile(filepath.Join(into, "file"), []byte("content"), 0o644)
	}}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			dir, err := a.get(context.Background(), cache)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(filepath.Join(dir, "file")).To(BeARegularFile())
		})
	}
	wg.Wait()
	g.Expect(made).To(Equal(1))
}

func TestAFailedArtifactLeavesNothing(t *testing.T) {
	g := NewWithT(t)
	cache := t.TempDir()
	broken := errors.New("no network")
	a := artifact{name: "thing", version: "1", make: func(context.Context, string, string) error { return broken }}
	_, err := a.get(context.Background(), cache)
	g.Expect(err).To(MatchError(broken))
	g.Expect(os.ReadDir(filepath.Join(cache, "built"))).To(BeEmpty())
}
