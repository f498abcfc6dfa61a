// Command setpoint sends a coil its setpoints, ten a second, from a list on standard
// input: a line for each, in amperes.
//
//	setpoint -coil 7 -shot 12 http://coil-driver < waveform
//
// A setpoint is absolute and is its content: so is its name, which needs no daemon
// and survives whatever happens to this machine. A step whose answer is lost is sent
// again, under the same name, until the next is due; then that one replaces it. The
// whole program can be started again: what was applied is not applied again.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// shot is what is sent where.
type shot struct {
	coil, number string
	receiver     string           // its URL
	due          <-chan time.Time // when the next setpoint is due
	pause        time.Duration    // before a step is sent again
}

func main() {
	var s shot
	flag.StringVar(&s.coil, "coil", "", "the `coil`")
	flag.StringVar(&s.number, "shot", "", "the `number` of the shot")
	period := flag.Duration("period", 100*time.Millisecond, "`time` from one setpoint to the next")
	flag.Parse()
	s.receiver, s.due, s.pause = flag.Arg(0), time.Tick(*period), *period/10
	if err := s.run(context.Background(), os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "setpoint:", err)
		os.Exit(1)
	}
}

// run sends all setpoints, each when it is due.
func (s *shot) run(ctx context.Context, waveform io.Reader) error {
	lines := bufio.NewScanner(waveform)
	for step := 0; lines.Scan(); step++ {
		if err := s.step(ctx, step, lines.Text()); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	return lines.Err()
}

// step sends one setpoint until it is answered or the next is due, and waits until
// that is.
func (s *shot) step(ctx context.Context, step int, amperes string) error {
	name, err := s.name(step, amperes)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- s.repeat(ctx, name, amperes) }()
	select {
	case err := <-answered:
		if err == nil {
			<-s.due
		}
		return err
	case <-s.due:
		fmt.Fprintf(os.Stderr, "setpoint: step %d was not answered in time\n", step)
		return nil
	}
}

// repeat sends a setpoint until it is answered.
func (s *shot) repeat(ctx context.Context, name keygen.Name, amperes string) error {
	for {
		status, err := s.send(ctx, name, amperes)
		switch {
		case err == nil && status/100 == 2:
			return nil
		case err == nil:
			return fmt.Errorf("the receiver answers %d", status)
		}
		select {
		case <-time.After(s.pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// name is what `opmint semantic coil 7 shot 12 step 3 --payload FILE` prints.
func (s *shot) name(step int, amperes string) (keygen.Name, error) {
	payload, err := api.FingerprintOf(strings.NewReader(amperes))
	if err != nil {
		return keygen.Name{}, err
	}
	return keygen.Semantic("coil", s.coil, "shot", s.number, "step", strconv.Itoa(step), payload.String())
}

func (s *shot) send(ctx context.Context, name keygen.Name, amperes string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, s.receiver+"/coils/"+s.coil, strings.NewReader(amperes))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Idempotency-Key", name.String())
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
