package civil_test

import (
	"testing"
	"time"

	"logstow/record/internal/civil"
)

// Every day from 0000-01-01 to 9999-12-31 agrees with package time.
func TestAgreesWithTime(t *testing.T) {
	t.Parallel()
	day := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := day.Unix() / civil.SecondsPerDay; day.Year() < 10000; n++ {
		y, m, d := civil.Date(n)
		if wy, wm, wd := day.Date(); y != wy || m != int(wm) || d != wd {
			t.Fatalf("Date(%d) = %d-%d-%d, want %v", n, y, m, d, day)
		}
		if got := civil.Days(y, m, d); got != n {
			t.Fatalf("Days(%d, %d, %d) = %d, want %d", y, m, d, got, n)
		}
		if !civil.Valid(y, m, d) {
			t.Fatalf("Valid(%d, %d, %d) = false", y, m, d)
		}
		day = day.AddDate(0, 0, 1)
		if day.Day() == 1 && civil.Valid(y, m, d+1) {
			t.Fatalf("Valid(%d, %d, %d) = true", y, m, d+1)
		}
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	for _, d := range [][3]int{{2023, 0, 1}, {2023, 13, 1}, {2023, 1, 0}, {2023, 2, 29}, {1900, 2, 29}, {2023, 12, 32}} {
		if civil.Valid(d[0], d[1], d[2]) {
			t.Errorf("Valid(%v) = true", d)
		}
	}
}
