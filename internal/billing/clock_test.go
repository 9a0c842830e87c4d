package billing

import (
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	seen := func(minute int, o Observed) func(Clock) Clock {
		return func(c Clock) Clock { return c.Advance(o, at(minute)) }
	}
	for _, c := range []struct {
		name  string
		looks []func(Clock) Clock
		want  Clock
	}{
		{"stands still while pending", []func(Clock) Clock{seen(1, Observed{Phase: Pending})}, Clock{}},
		{"starts with the first ready pod", []func(Clock) Clock{
			seen(1, Observed{Phase: Pending, StartedAt: at(0)}), seen(5, Observed{Phase: Running, Ready: true, StartedAt: at(0)}),
		}, Clock{StartedAt: at(5), RunningSince: at(5)}},
		{"takes the reported start where no pod was seen ready", []func(Clock) Clock{
			seen(5, Observed{Phase: Running, StartedAt: at(2), CreatedAt: at(1)}),
		}, Clock{StartedAt: at(2), RunningSince: at(2)}},
		{"takes no start before the creation", []func(Clock) Clock{
			seen(5, Observed{Phase: Running, StartedAt: at(-60), CreatedAt: at(1)}),
		}, Clock{StartedAt: at(1), RunningSince: at(1)}},
		{"takes no start in the future", []func(Clock) Clock{
			seen(5, Observed{Phase: Running, StartedAt: at(60), CreatedAt: at(1)}),
		}, Clock{StartedAt: at(5), RunningSince: at(5)}},
		{"goes on while pods are retried or unknown", []func(Clock) Clock{
			seen(5, Observed{Phase: Running, Ready: true}), seen(6, Observed{Phase: Running}), seen(7, Observed{Phase: Unknown}),
		}, Clock{StartedAt: at(5), RunningSince: at(5)}},
		{"pauses while suspended and goes on after", []func(Clock) Clock{
			seen(5, Observed{Phase: Running, Ready: true}), seen(8, Observed{Phase: Pending, Suspended: true}),
			seen(20, Observed{Phase: Pending}), seen(21, Observed{Phase: Running, Ready: true}),
		}, Clock{StartedAt: at(5), RunningSince: at(21), Ran: 3 * time.Minute}},
		{"pauses from when a suspension began, however late it is seen", []func(Clock) Clock{
			seen(5, Observed{Phase: Running, Ready: true}), seen(60, Observed{Phase: Pending, Suspended: true, SuspendedAt: at(8)}),
		}, Clock{StartedAt: at(5), Ran: 3 * time.Minute}},
		{"starts anew after a suspension that nobody saw", []func(Clock) Clock{
			seen(5, Observed{Phase: Running, Ready: true}), seen(60, Observed{Phase: Running, Ready: true, ResumedAt: at(50)}),
			seen(61, Observed{Phase: Running, Ready: true, ResumedAt: at(50)}),
		}, Clock{StartedAt: at(5), RunningSince: at(60)}},
		{"stays where it is while the end of a suspension lies ahead by another clock", []func(Clock) Clock{
			seen(5, Observed{Phase: Running, Ready: true}), seen(8, Observed{Phase: Pending, Suspended: true}),
			seen(20, Observed{Phase: Running, Ready: true, ResumedAt: at(22)}), seen(21, Observed{Phase: Running, Ready: true, ResumedAt: at(22)}),
		}, Clock{StartedAt: at(5), RunningSince: at(22), Ran: 3 * time.Minute}},
		{"ends with the run", []func(Clock) Clock{
			seen(5, Observed{Phase: Running, Ready: true}), seen(9, Observed{Phase: Succeeded, FinishedAt: at(8)}),
		}, Clock{StartedAt: at(5), Ran: 3 * time.Minute}},
		{"is never negative, even if the end lies before the start", []func(Clock) Clock{
			seen(5, Observed{Phase: Running, Ready: true}), seen(9, Observed{Phase: Failed, FinishedAt: at(2)}),
		}, Clock{StartedAt: at(5)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var clock Clock
			for _, look := range c.looks {
				clock = look(clock)
			}
			if clock != c.want {
				t.Errorf("clock is %+v, want %+v", clock, c.want)
			}
		})
	}
}
