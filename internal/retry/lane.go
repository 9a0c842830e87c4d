package retry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Config says where the lane is and whose it is.
type Config struct {
	// URL is a Redis URL: redis://, rediss:// (TLS) or unix://. For a Redis
	// Cluster it is redis+cluster:// or rediss+cluster://, or names further nodes
	// by the query parameter addr.
	URL string
	// RetryKey and DeadLetterKey are the names of the two lists. All other keys
	// begin with one of them.
	RetryKey, DeadLetterKey string
	// Owner is the cluster that the lane belongs to. It must never change.
	Owner string
	// Timeout bounds each call; above 0.
	Timeout time.Duration
	// Lease is how long an entry stays with a consumer that died; at least a
	// second.
	Lease time.Duration
	// Now is the local clock; nil for time.Now.
	Now func() time.Time
}

// Lane is a connection to the retry lane. It is safe for concurrent use.
type Lane struct {
	rdb     redis.UniversalClient
	keys    keys
	where   string // for error messages
	owner   string
	timeout time.Duration
	lease   time.Duration
	clock   clock
	peeker  peeker

	preparing sync.Mutex
	prepared  atomic.Bool
}

// Open checks the configuration and returns a Lane without contacting the
// server. Its error says which setting to change.
func Open(cfg Config) (*Lane, error) {
	switch {
	case cfg.Owner == "":
		return nil, errors.New("the retry lane needs an owner, the name of the cluster; set --cluster")
	case cfg.Timeout <= 0:
		return nil, fmt.Errorf("the time-out of a call to Redis is %s; set --store-timeout above 0", cfg.Timeout)
	case cfg.Lease < time.Second:
		return nil, fmt.Errorf("the lease of an entry is %s; set --retry-lease to 1s or more", cfg.Lease)
	}
	k, err := newKeys(cfg.RetryKey, cfg.DeadLetterKey)
	if err != nil {
		return nil, err
	}
	at, err := readAddress(cfg.URL, cfg.Timeout)
	if err != nil {
		return nil, err
	}
	if at.nodes != nil {
		if err := k.inOneSlot(); err != nil {
			return nil, err
		}
	}
	return &Lane{
		rdb: at.client(), keys: k, where: at.where, owner: cfg.Owner, timeout: cfg.Timeout, lease: cfg.Lease,
		clock:  newClock(cfg.Now),
		peeker: peeker{rdb: at.blockingClient(), list: k.waiting, timeout: cfg.Timeout},
	}, nil
}

// Ping asks the server for a sign of life. A server that is full or read-only
// gives one too.
func (l *Lane) Ping(ctx context.Context) error {
	ctx, cancel := l.call(ctx)
	defer cancel()
	if err := l.rdb.Ping(ctx).Err(); err != nil {
		return l.failed(ctx, "ping", err)
	}
	return nil
}

// Close ends the connections. Calls under way fail.
func (l *Lane) Close() error {
	if err := errors.Join(l.rdb.Close(), l.peeker.rdb.Close()); err != nil {
		return fmt.Errorf("closing the connections to Redis at %s: %w", l.where, err)
	}
	return nil
}

// Depth is how many entries each part of the lane holds.
type Depth struct {
	// Waiting entries are on the list and were not looked at yet; Parked ones
	// wait for their due time; Leased ones are in hand.
	Waiting, Parked, Leased int64
	// DeadLetters wait for people.
	DeadLetters int64
}

// Depth counts the entries, in one round trip.
func (l *Lane) Depth(ctx context.Context) (Depth, error) {
	ctx, cancel := l.call(ctx)
	defer cancel()
	p := l.rdb.Pipeline()
	waiting, dead := p.LLen(ctx, l.keys.waiting), p.LLen(ctx, l.keys.dead)
	parked, leased := p.ZCard(ctx, l.keys.parked), p.ZCard(ctx, l.keys.leased)
	if _, err := p.Exec(ctx); err != nil {
		return Depth{}, l.failed(ctx, fmt.Sprintf("counting the entries of %q and %q", l.keys.waiting, l.keys.dead), err)
	}
	return Depth{Waiting: waiting.Val(), Parked: parked.Val(), Leased: leased.Val(), DeadLetters: dead.Val()}, nil
}

// call gives one call to the server its time-out.
func (l *Lane) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, l.timeout)
}

// node is the server that holds the lane: of a Redis Cluster, the one that holds
// its keys now.
func (l *Lane) node(ctx context.Context) (redis.Cmdable, error) {
	if c, ok := l.rdb.(*redis.ClusterClient); ok {
		return c.MasterForKey(ctx, l.keys.waiting)
	}
	return l.rdb, nil
}
