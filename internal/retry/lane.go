package retry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrOwned marks the refusal to use a lane that belongs to another cluster.
var ErrOwned = errors.New("the retry lane belongs to another cluster")

// OwnedError says whose lane it is.
type OwnedError struct {
	// Key is the owner key; Owner what it holds, Want what it should hold.
	Key, Owner, Want string
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("the Redis key %s says that this lane belongs to cluster %q, not to %q: clusters that share a Redis need different --retry-key and --dead-letter-key",
		e.Key, e.Owner, e.Want)
}

// Is makes an OwnedError match ErrOwned.
func (e *OwnedError) Is(target error) bool { return target == ErrOwned }

// Config says where the lane is.
type Config struct {
	// URL is a redis://, rediss:// or unix:// URL. With the query parameter addr, it names several nodes of a Redis Cluster.
	URL string
	// RetryKey and DeadLetterKey are the names of the two lists.
	RetryKey, DeadLetterKey string
	// Owner is the cluster that the lane belongs to.
	Owner string
	// Timeout bounds each call; Lease is how long an entry stays with a consumer that died.
	Timeout, Lease time.Duration
	// Now is the local clock; time.Now if nil.
	Now func() time.Time
}

// Lane is the retry lane. It is safe for concurrent use.
type Lane struct {
	rdb      redis.UniversalClient
	keys     keys
	cfg      Config
	prepare  sync.Mutex
	prepared atomic.Bool
	offset   atomic.Int64 // of the server's clock from the local one, in nanoseconds
}

// keys are all names in use.
type keys struct {
	retry, parked, leased, owner, dead, deadIndex string
}

// Open checks the configuration. It doesn't contact the server.
func Open(cfg Config) (*Lane, error) {
	k := keys{
		retry: cfg.RetryKey, parked: cfg.RetryKey + ":parked", leased: cfg.RetryKey + ":leased", owner: cfg.RetryKey + ":owner",
		dead: cfg.DeadLetterKey, deadIndex: cfg.DeadLetterKey + ":index",
	}
	if err := k.validate(); err != nil {
		return nil, err
	}
	if cfg.Owner == "" || cfg.Timeout <= 0 || cfg.Lease < time.Second {
		return nil, errors.New("a lane needs an owner, a time-out above 0 and a lease of at least 1s")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	rdb, err := connect(cfg, k)
	if err != nil {
		return nil, err
	}
	return &Lane{rdb: rdb, keys: k, cfg: cfg}, nil
}

func (k keys) validate() error {
	if k.retry == "" || k.dead == "" {
		return errors.New("the names of the retry list and of the dead-letter list must be set")
	}
	seen := map[string]bool{}
	for _, name := range []string{k.retry, k.parked, k.leased, k.owner, k.dead, k.deadIndex} {
		if seen[name] {
			return fmt.Errorf("the names of the retry list, %q, and of the dead-letter list, %q, lead to the same key %q; choose others", k.retry, k.dead, name)
		}
		seen[name] = true
	}
	return nil
}

// connect makes a client for one server or, where the URL names several nodes, for a Redis Cluster, in which all keys of a
// script must live in one slot.
func connect(cfg Config, k keys) (redis.UniversalClient, error) {
	if strings.Contains(cfg.URL, "addr=") {
		o, err := redis.ParseClusterURL(cfg.URL)
		if err != nil {
			return nil, fmt.Errorf("reading the Redis Cluster URL: %w", withoutURL(err))
		}
		if hashTag(k.retry) == "" || hashTag(k.retry) != hashTag(k.dead) {
			return nil, fmt.Errorf("on a Redis Cluster the names of both lists must carry the same hash tag, such as {jobs}:retry and {jobs}:dead-letter; they are %q and %q", k.retry, k.dead)
		}
		o.ContextTimeoutEnabled, o.ReadTimeout, o.WriteTimeout, o.DialTimeout = true, cfg.Timeout, cfg.Timeout, cfg.Timeout
		return redis.NewClusterClient(o), nil
	}
	o, err := redis.ParseURL(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("reading the Redis URL: %w", withoutURL(err))
	}
	o.ContextTimeoutEnabled, o.ReadTimeout, o.WriteTimeout, o.DialTimeout = true, cfg.Timeout, cfg.Timeout, cfg.Timeout
	return redis.NewClient(o), nil
}

// withoutURL keeps a password that stands in a URL out of the error.
func withoutURL(err error) error {
	var e interface{ Unwrap() error }
	if errors.As(err, &e) && e.Unwrap() != nil {
		return e.Unwrap()
	}
	return errors.New("it can't be read; it should look like redis://user:password@host:6379/0")
}

func hashTag(key string) string {
	_, rest, found := strings.Cut(key, "{")
	if !found {
		return ""
	}
	tag, _, found := strings.Cut(rest, "}")
	if !found {
		return ""
	}
	return tag
}

// Prepare makes sure, once, that the lane is this cluster's and measures the server's clock. It is cheap after it has
// succeeded. An error that matches ErrOwned is final.
func (l *Lane) Prepare(ctx context.Context) error {
	if l.prepared.Load() {
		return nil
	}
	l.prepare.Lock()
	defer l.prepare.Unlock()
	if l.prepared.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	if err := l.checkVersion(ctx); err != nil {
		return err
	}
	if err := l.MeasureClock(ctx); err != nil {
		return err
	}
	if err := l.rdb.SetNX(ctx, l.keys.owner, l.cfg.Owner, 0).Err(); err != nil {
		return fmt.Errorf("claiming the retry lane %s: %w", l.keys.retry, err)
	}
	owner, err := l.rdb.Get(ctx, l.keys.owner).Result()
	if err != nil {
		return fmt.Errorf("reading whose the retry lane %s is: %w", l.keys.retry, err)
	}
	if owner != l.cfg.Owner {
		return &OwnedError{Key: l.keys.owner, Owner: owner, Want: l.cfg.Owner}
	}
	l.prepared.Store(true)
	return nil
}

// checkVersion refuses a server that lacks the one command that older ones lack.
func (l *Lane) checkVersion(ctx context.Context) error {
	info, err := l.rdb.Info(ctx, "server").Result()
	if err != nil {
		return fmt.Errorf("asking Redis for its version: %w", err)
	}
	for line := range strings.Lines(info) {
		version, found := strings.CutPrefix(strings.TrimSpace(line), "redis_version:")
		if !found {
			continue
		}
		var major, minor int
		if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err == nil && (major < 6 || major == 6 && minor < 2) {
			return fmt.Errorf("this Redis has version %s; the retry lane needs 6.2 or newer", version)
		}
	}
	return nil
}

// Warnings says what in the server's configuration could lose entries, in sentences for the operator. A server that doesn't
// let its configuration be read gives none.
func (l *Lane) Warnings(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	config, err := l.rdb.ConfigGet(ctx, "maxmemory-policy").Result()
	if err != nil {
		return nil
	}
	if policy := config["maxmemory-policy"]; strings.HasPrefix(policy, "allkeys-") {
		return []string{fmt.Sprintf("Redis may evict the retry lane: its maxmemory-policy is %s; set it to noeviction", policy)}
	}
	return nil
}

// Lost tells that the server has forgotten whose the lane is, as after FLUSHALL or with an empty disk. Prepare claims it anew.
func (l *Lane) Lost(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	n, err := l.rdb.Exists(ctx, l.keys.owner).Result()
	if err != nil {
		return false, fmt.Errorf("looking for the owner of the retry lane %s: %w", l.keys.retry, err)
	}
	if n == 0 {
		l.prepared.Store(false)
	}
	return n == 0, nil
}

// Ping asks the server for an answer.
func (l *Lane) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	if err := l.rdb.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("pinging Redis: %w", err)
	}
	return nil
}

// Close ends all connections.
func (l *Lane) Close() error {
	if err := l.rdb.Close(); err != nil {
		return fmt.Errorf("closing the connections to Redis: %w", err)
	}
	return nil
}

// Now is the time by the Redis server's clock, as far as it was measured. It sends no command.
func (l *Lane) Now() time.Time {
	return l.cfg.Now().UTC().Add(time.Duration(l.offset.Load()))
}

// MeasureClock measures how far the server's clock is from the local one. Half of the round trip is the error.
func (l *Lane) MeasureClock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	began := time.Now()
	local := l.cfg.Now()
	server, err := l.rdb.Time(ctx).Result()
	if err != nil {
		return fmt.Errorf("reading the Redis server's clock: %w", err)
	}
	local = local.Add(time.Since(began) / 2)
	l.offset.Store(int64(server.Sub(local)))
	return nil
}

// Depth is how many entries each part of the lane holds.
type Depth struct {
	// Waiting entries are on the list, not looked at yet; Parked ones wait for their due time; Leased ones are in hand.
	Waiting, Parked, Leased int64
	// DeadLetters wait for people.
	DeadLetters int64
}

// Depth counts the entries, in one round trip.
func (l *Lane) Depth(ctx context.Context) (Depth, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	p := l.rdb.Pipeline()
	waiting, parked := p.LLen(ctx, l.keys.retry), p.ZCard(ctx, l.keys.parked)
	leased, dead := p.ZCard(ctx, l.keys.leased), p.LLen(ctx, l.keys.dead)
	if _, err := p.Exec(ctx); err != nil {
		return Depth{}, fmt.Errorf("counting the entries of the retry lane %s: %w", l.keys.retry, err)
	}
	return Depth{Waiting: waiting.Val(), Parked: parked.Val(), Leased: leased.Val(), DeadLetters: dead.Val()}, nil
}
