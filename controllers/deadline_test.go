package controllers

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	billingv1 "recoup.dev/recoup/api/v1"
)

func TestADeadlineRunsFromTheFirstReadyPod(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", "deadline: 10m\n"+trainingJob)
	b.settle("job")
	b.jobStatus("job-0", func(s *batchv1.JobStatus) { // its pod is pulling its image
		now, none := metav1.NewTime(b.clock.Now()), int32(0)
		s.StartTime, s.Active, s.Ready = &now, 1, &none
	})
	b.settle("job")
	b.clock.advance(time.Hour)
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.wantPhase("job", billingv1.PhaseCharged)

	b.jobStatus("job-0", func(s *batchv1.JobStatus) { *s.Ready = 1 })
	b.settle("job")
	b.wantPhase("job", billingv1.PhaseRunning)
	b.clock.advance(10*time.Minute - time.Second)
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.clock.advance(time.Second)
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
	b.wantOutcome(0, "Failed DeadlineExceeded")
}

func TestADeadlineDoesntCountSuspension(t *testing.T) {
	for _, c := range []struct {
		name string
		down func(*bench, func())
	}{
		{"seen", func(b *bench, do func()) { do(); b.settle("job") }},
		{"begun while the manager was down", func(b *bench, do func()) {
			do()
			b.clock.advance(time.Hour)
			b.restart()
			b.settle("job")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bj := b.apply("job", "deadline: 10m\n"+trainingJob)
			b.settle("job")
			b.runs("job-0")
			b.settle("job")
			b.clock.advance(6 * time.Minute)
			c.down(b, func() { b.suspend(true) })
			b.clock.advance(time.Hour)
			b.settle("job")
			b.suspend(false)
			b.settle("job")
			b.clock.advance(time.Minute)
			b.settle("job")
			b.runs("job-0")
			b.settle("job")
			b.clock.advance(4*time.Minute - time.Second)
			b.settle("job")
			b.wantRows(bj, "charge -40")
			b.clock.advance(time.Second)
			b.settle("job")
			b.wantRows(bj, "charge -40, refund +40")
			b.wantOutcome(0, "Failed DeadlineExceeded")
		})
	}
}

// A suspension that began and ended while the manager was down shows only by its end. The time before it is left out, since
// nobody can tell it from the suspension; what runs after it counts.
func TestADeadlineDoesntCountASuspensionThatNobodySaw(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", "deadline: 10m\n"+trainingJob)
	b.settle("job")
	b.runs("job-0")
	b.settle("job")
	b.clock.advance(time.Minute)
	b.suspend(true)
	b.clock.advance(time.Hour)
	b.suspend(false)
	b.runs("job-0")
	b.restart()
	b.settle("job")
	b.clock.advance(10*time.Minute - time.Second)
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.clock.advance(time.Second)
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
}

func TestAStartDeadlineRunsFromTheCreation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", "startDeadline: 5m\n"+trainingJob)
	b.settle("job")
	b.clock.advance(5*time.Minute - time.Second)
	b.settle("job")
	b.wantRows(bj, "charge -40")
	b.clock.advance(time.Second)
	b.settle("job")
	b.wantRows(bj, "charge -40, refund +40")
	b.wantOutcome(0, "Failed StartDeadlineExceeded")
	b.wantCondition("job", billingv1.ConditionRefunded, metav1.ConditionTrue, "StartDeadlineExceeded", "")
}

func TestAStartDeadlineDoesntMeetARunThatStarted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bj := b.apply("job", "startDeadline: 5m\n"+trainingJob)
	b.settle("job")
	b.runs("job-0")
	b.settle("job")
	b.jobStatus("job-0", func(s *batchv1.JobStatus) { *s.Ready = 0 })
	b.clock.advance(time.Hour)
	b.settle("job")
	b.wantRows(bj, "charge -40")
}

func TestAStartDeadlineRunsAnewAfterASuspension(t *testing.T) {
	for _, c := range []struct {
		name string
		ran  bool
	}{{"of an attempt that never ran", false}, {"of an attempt that was preempted", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bj := b.apply("job", "startDeadline: 5m\n"+trainingJob)
			b.settle("job")
			if c.ran {
				b.runs("job-0")
				b.settle("job")
			}
			b.suspend(true)
			b.settle("job")
			b.clock.advance(time.Hour)
			b.settle("job")
			b.wantRows(bj, "charge -40")
			b.suspend(false)
			b.settle("job")
			b.clock.advance(5*time.Minute - time.Second)
			b.settle("job")
			b.wantRows(bj, "charge -40")
			b.clock.advance(time.Second)
			b.settle("job")
			b.wantRows(bj, "charge -40, refund +40")
			b.wantOutcome(0, "Failed StartDeadlineExceeded")
		})
	}
}

func TestClocksThatDisagreeMakeNoEarlyDeadline(t *testing.T) {
	for _, c := range []struct {
		name string
		off  time.Duration
	}{{"the manager's is an hour ahead", time.Hour}, {"the manager's is an hour behind", -time.Hour}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.clock.advance(c.off)
			bj := b.apply("job", "deadline: 10m\nstartDeadline: 5m\n"+trainingJob)
			b.settle("job")
			b.clock.advance(5*time.Minute - time.Second)
			b.settle("job")
			b.wantRows(bj, "charge -40")
			b.jobStatus("job-0", func(s *batchv1.JobStatus) { // by the cluster's clock
				now, ready := metav1.Now(), int32(1)
				s.StartTime, s.Active, s.Ready = &now, 1, &ready
			})
			b.settle("job")
			b.wantPhase("job", billingv1.PhaseRunning)
			b.clock.advance(10*time.Minute - time.Second)
			b.settle("job")
			b.wantRows(bj, "charge -40")
			b.clock.advance(time.Second)
			b.settle("job")
			b.wantRows(bj, "charge -40, refund +40")
		})
	}
}

func TestAnEndBeforeItsStartLastsNoNegativeTime(t *testing.T) {
	for _, c := range []struct {
		name string
		ran  bool
	}{{"seen running", true}, {"seen ended", false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bj := b.apply("job", "deadline: 10m\n"+trainingJob)
			b.settle("job")
			b.clock.advance(time.Minute)
			if c.ran {
				b.runs("job-0")
				b.settle("job")
			}
			b.jobStatus("job-0", func(s *batchv1.JobStatus) {
				started := metav1.NewTime(b.clock.Now().Add(time.Minute))
				ended := metav1.NewTime(b.clock.Now().Add(-time.Hour))
				if s.StartTime == nil {
					s.StartTime = &started
				}
				b.conditions("FailureTarget", "Failed")(s)
				for i := range s.Conditions {
					s.Conditions[i].LastTransitionTime = ended
				}
			})
			b.settle("job")
			b.wantRows(bj, "charge -40, refund +40")
			a := b.get("job").Status.Attempts[0]
			if a.FinishedAt.Before(a.StartedAt) || (a.Ran != nil && a.Ran.Duration < 0) {
				t.Errorf("the attempt ran from %s to %s, for %v", a.StartedAt, a.FinishedAt, a.Ran)
			}
		})
	}
}
