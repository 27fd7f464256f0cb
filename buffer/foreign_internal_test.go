package buffer

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// write makes or replaces a file of the buffer.
func (s *scenario) write(path string, data []byte) {
	s.t.Helper()
	_ = s.fs.Remove(path)
	file, err := s.fs.Create(path)
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = file.WriteAt(data, 0)
	if err := errors.Join(err, file.Sync(), file.Close(), s.fs.SyncDir(filepath.Dir(path))); err != nil {
		s.t.Fatal(err)
	}
}

// contents returns the bytes of a file of the buffer.
func (s *scenario) contents(path string) (data []byte) {
	s.fs.Change(path, func(b []byte) []byte { data = append(data, b...); return b })
	return data
}

// Files that are not part of the log, such as a copy of one under another number, do not make positions lost, and the log does
// not continue after them: then nothing would follow the highest number.
func TestForeignLogFiles(t *testing.T) {
	t.Parallel()
	for name, quarantined := range map[string]bool{
		"ffffffffffffffff.log": true, "ffffffffffffffff.copy": true, "00000000000000ff.log": true, "ff.log": false, "+000000000000002.log": false,
	} {
		for _, alone := range []bool{false, true} {
			if alone && !strings.HasPrefix(name, "ffffffff") { // it may be what is left of the log
				continue
			}
			s := newScenario(t, SyncAlways)
			if !alone {
				s = killed(t, 2, true)
			}
			foreign := filepath.Join(s.dir, "wal", name)
			if alone {
				if err := errors.Join(s.mustOpen().Close(), s.fs.Remove(s.fs.Paths(".log")[0]), s.fs.Remove(s.fs.Paths(".copy")[0])); err != nil {
					t.Fatal(err)
				}
				s.write(foreign, []byte("LSTOWWAL and something else"))
			} else {
				s.write(foreign, s.contents(s.fs.Paths(filepath.Ext(name))[0]))
			}
			s.policy = StopLost
			for range 2 { // a process that is killed with records in the log, and the next
				b := s.mustOpen()
				if err := s.append(b, s.position(b)+2); err != nil {
					t.Fatal(err)
				}
				left := s.fs.Crash(nil, false)
				_ = b.Close()
				s.fs = left
			}
			s.finish(s.mustOpen(), 20)
			s.check(20)
			logged := s.log.String()
			if quarantined != (strings.Count(logged, "level=ERROR") == 1 && strings.Contains(logged, "is not part of the log")) {
				t.Errorf("%s, alone %v: logged\n%s", name, alone, logged)
			}
			if found := s.fs.Paths(filepath.Join("quarantine", name)); quarantined != (len(found) == 1) {
				t.Errorf("%s, alone %v: in quarantine %v", name, alone, found)
			}
		}
	}
}

// If neither a log file nor its copy is intact, positions may be lost: this is reported, also of files that are cut to nothing.
func TestLogFileAndCopyDamaged(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(s *scenario, log, copied string){
		"removed, and the copy empty": func(s *scenario, log, copied string) {
			_ = s.fs.Remove(log)
			s.write(copied, nil)
		},
		"removed, and the copy zeroed": func(s *scenario, log, copied string) {
			_ = s.fs.Remove(log)
			s.write(copied, make([]byte, 500))
		},
		"empty, and the copy removed": func(s *scenario, log, copied string) {
			s.write(log, nil)
			_ = s.fs.Remove(copied)
		},
		"cut to the magic, and the copy removed": func(s *scenario, log, copied string) {
			s.write(log, []byte("LSTOWWAL"))
			_ = s.fs.Remove(copied)
		},
	} {
		for _, last := range []bool{false, true} {
			s := killed(t, 2, true)
			log, copied := s.fs.Paths(".log")[0], s.fs.Paths(".copy")[0]
			if !last {
				b := s.mustOpen()
				left := s.fs.Crash(nil, false)
				_ = b.Close()
				s.fs = left
			}
			damage(s, log, copied)
			b := s.mustOpen()
			if cost := b.Stats().DamageLoss(); cost == "" || !strings.Contains(s.log.String(), log) {
				t.Errorf("%s, last %v: reported %q\n%s", name, last, cost, s.log)
			}
			if b.Stats().LostPositions != last { // the next file has them
				t.Errorf("%s, last %v: positions lost %v", name, last, b.Stats().LostPositions)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
