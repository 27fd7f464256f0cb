package patterns_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"logstow/query/patterns"
)

// labelled has the events of the messages of a real log.
type labelled struct {
	file string
	// header is what precedes the message, as the benchmark of log parsers cuts it off.
	header string
	// events are expressions for the messages of one event each, or of one for each text of a
	// group. The first that matches counts.
	events []string
	// published is the accuracy of Drain's grouping.
	published float64
}

func labelledLogs() []labelled {
	return []labelled{
		{
			file: "HDFS", published: 0.998, header: `^\d+ \d+ \d+ \w+ \S+: `,
			events: []string{
				`Served block`, `Starting thread to transfer`, `exception while serving`, `ask .* to delete`, `ask .* to replicate`,
				`addStoredBlock`, `allocateBlock`, `NameSystem.delete`, `^Deleting block`, `^PacketResponder`, `^Received .* from`,
				`^Received .*src`, `^Receiving`, `^Verification`,
			},
		},
		{
			file: "Spark", published: 0.92, header: `^\S+ \S+ \w+ \S+: `,
			events: []string{
				`: Committed$`, `as (bytes|values) in`, `^Changing (modify|view)`, `^(Connecting|Created|File Output|Finished|Found|Got|Input)\b`,
				`^(mapred[.\w]+) is dep`, `^(MemoryStore|Partition|Reading|Registered \w+|Remoting|Running|Saved|SecurityManager|Server|Slf4jLogger)\b`,
				`^(Started|Starting \w+|Successfully registered|Times|Trying)\b`, `started service '(\S+)'`,
			},
		},
		{
			file: "Zookeeper", published: 0.967, header: `^\S+ \S+ - \w+ +\[.*?:?[\w$.]+@\d+\] - `,
			events: []string{
				`GOODBYE`, `^(Accepted|Cannot open|caught|Client attempting to \w+|Connection \w+|Established|Exception|Expiring|First|Follower|Getting|Got)\b`,
				`^Closed .*(which|no session)`, `^(Have \w+|Interrupted|Interrupting|LOOKING|My|New|Notification time)\b`, `^FOLLOWING$`, `^FOLLOWING -`,
				`^(autopurge\.\w+|maxSession|minSession|tickTime)`, `^Notification: .*(\w+) \(n.state.*(\w+) \(my`,
				`^(Processed|Reading|Received|Revalidating|Send|Sending|Server|shutdown|Snapshotting|Starting)\b`, `^Unexpected (exception|Exception)`,
			},
		},
		{
			file: "Apache", published: 1, header: `^\[.*?\] \[\w+\] `,
			events: []string{
				`Directory index`, `Can't find`, `Found child`, `child init`, `child workerEnv`, `workerEnv.init`,
			},
		},
		{
			file: "OpenSSH", published: 0.788, header: `^\S+ +\S+ \S+ \S+ \S+: `,
			events: []string{
				`^(Accepted|Connection|Did not|Invalid|input_user|fatal|message|reverse|PAM service)`, `^Disconnecting.*for (\S+)`,
				`^Failed none`, `^Failed password for invalid`, `^Failed`, `PAM \d+ more authentication failure;`,
				`PAM .*failures.* user=`, `PAM`, `authentication failure;.* user=`, `authentication failure;`, `check pass`, `session (\w+)`,
				`^error: Received.*(Auth fail|No more)`, `^Received .*(Bye|Closed|by user)`,
			},
		},
		{
			file: "OpenStack", published: 0.733, header: `^\S+ \S+ \S+ \d+ \w+ \S+ \[.*?\] `,
			events: []string{
				`"(DELETE|GET|POST) `, `^\[.*?\] (Attempting|Claim|Creating|Deleting|Deletion|disk|During|Instance \w+|memory|Terminating|vcpu)\b`,
				`^\[.*?\] (Total \w+|VM \w+)`, `Took .*(build|deallocate|destroy|spawn)`,
				`^(Active|Auditing|Base|Compute_service|Creating|Final|HTTP|Removable|Removing|Running|Successfully|The instance|Total|Unknown|While)\b`,
				`^image .*: checking`, `^image .*in use`,
			},
		},
		{
			file: "Android", published: 0.911, header: `^\S+ \S+ +\d+ +\d+ \w [^:]*: `,
			events: []string{
				`animateCollapse.*(delayed=\w+, mExpandedVisible=\w+)`, `^cancelNotification,(.)[a-z]`, `^cancelNotificationLocked(.)`,
				`^(cleanUpApplicationRecord[^ ]* [-rp])`, `^disable.*(icons|ICONS)`, `^enqueueNotificationInternal: ([np])(?:.*(category))?`, `^flingTo.*(expand=\w+),`,
				`^get.*subId.*(phone|retVal)`, `^HBM (\w+)`, `^interceptKeyTq.*down (\w+)`, `^logNotificationVis.* (\w+)$`, `^makeExp.*(true|false)`,
				`^onIntercept.*ACTION_(\w+)`, `^Skipping (\w)`, `^Skipping,.*(typ|bnds)=`, `^Skipping,.*dat=`, `^Skipping,.*act=`, `^Skipping`, `^ACTION_\w+ (\w+)`,
				`^sending alarm.*time_tick`, `^START.*(bnds)`, `^START.*(act)=`, `^startAnimation (\w+)`, `^stopWifi\w+ ([a-z])`, `^The change.* (\w+)$`,
				`^updateClipping.*Overlap:(\w+)`, `^updateDimmed.*:(\w+)`, `^updateLights.*(\?\w+|turn)`, `^visible .* gt`, `^shouldBlockLocation +(\S+)`,
				`^getRecentTasks: (\w)`, `^\*\*\* (\w+) callback for (null)?`, `^onTracking(\w+)`, `^setSpeakerphoneOn( +)`, `^\[PhoneIntfMgr\].*(phoneId|retVal)`,
				`^(Start \w+|[\w.\[\]]+)`,
			},
		},
		{
			file: "Linux", published: 0.69, header: `^\S+ +\S+ \S+ \S+ (?:[^ :]+: |syslogd [\d.]+: )?`,
			events: []string{
				`^authentication failure.*rhost=$`, `^authentication failure.* user=(\S+)`, `^authentication failure`, `^Authentication failed.*: (\w+)`,
				`^BIOS-e820.*(reserved|usable)`, `(HIGHMEM|LOWMEM)`, `^ *(\w+) zone:`, `^session (opened .*by LOGIN|opened|closed)`, `^audit(.)`,
				`^ACPI:? (\w+)`, `^CPU( |: \w+)`, `^(\S+ \S+ device)`, `^Initializing (\w)`, `^isapnp: (\w)`, `^Linux (\w)`, `^PCI: (Probing.*bus|\S+ \S+)`,
				`^Intel machine check (\w+)`, `^Enabling (\w)`, `new driver (\w+)`, `^SELinux: +(\w)\w*( \w)?`, `^Total (\w)`, `^ *(\S+ +\S+)`, `^(\S+)$`,
			},
		},
	}
}

// readLog reads the lines of a real log, or skips the test where there is none.
func readLog(t testing.TB, file string) [][]byte {
	t.Helper()
	dir := os.Getenv("LOGSTOW_LOGHUB")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data", "loghub")
	}
	text, err := os.ReadFile(filepath.Join(dir, file+".log"))
	if err != nil {
		t.Skipf("the real logs are not here (LOGSTOW_LOGHUB names their folder): %v", err)
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// Messages of real logs are grouped at least as accurately as by Drain as published: a message is
// grouped right if the others of its template are those of its event.
func TestAccuracy(t *testing.T) {
	t.Parallel()
	for _, log := range labelledLogs() {
		t.Run(log.file, func(t *testing.T) {
			t.Parallel()
			header := regexp.MustCompile(log.header)
			var messages [][]byte
			var labels []string
			for n, line := range readLog(t, log.file) {
				cut := header.Find(line)
				if cut == nil {
					t.Fatalf("line %d has no header: %s", n+1, line)
				}
				message := line[len(cut):]
				messages = append(messages, message)
				labels = append(labels, label(t, log.events, strings.TrimSpace(string(message))))
			}
			right, events, templates := groupingAccuracy(t, messages, labels)
			t.Logf("%.4f of %d messages grouped right, %d events, %d templates (published: %.3f)", right, len(messages), events, templates, log.published)
			if right < log.published {
				t.Errorf("%.4f grouped right, published are %.3f", right, log.published)
			}
		})
	}
}

// label is the event of a message.
func label(t *testing.T, events []string, message string) string {
	for n, event := range events {
		if found := regexp.MustCompile(event).FindStringSubmatch(message); found != nil {
			return fmt.Sprint(n, " ", strings.Join(found[1:], " "))
		}
	}
	t.Fatalf("no event of %q", message)
	return ""
}

// groupingAccuracy is the part of messages whose template has exactly the messages of their label.
func groupingAccuracy(t *testing.T, messages [][]byte, labels []string) (right float64, events, templates int) {
	groups := map[string]map[string]int{}
	all := map[string]int{}
	for n, template := range patterns.TemplatesOf(patterns.NewCounter(patterns.Always()), messages) {
		if groups[template] == nil {
			groups[template] = map[string]int{}
		}
		groups[template][labels[n]]++
		all[labels[n]]++
	}
	correct := 0
	for template, group := range groups {
		for event, n := range group {
			if len(group) == 1 && all[event] == n {
				correct += n
			} else if testing.Verbose() {
				t.Logf("wrong: %d of %d of event %s: %s", n, all[event], event, template)
			}
		}
	}
	return float64(correct) / float64(len(messages)), len(all), len(groups)
}

// A template finds all messages that it counts; those that it finds beside them are of templates that are
// more specific. Of real logs nearly all templates find their messages only.
func TestTemplatesFindTheirMessages(t *testing.T) {
	t.Parallel()
	templates, exact := 0, 0
	for _, log := range labelledLogs() {
		messages := readLog(t, log.file)
		of := patterns.TemplatesOf(patterns.NewCounter(patterns.Always()), messages)
		counts := map[string]int{}
		for _, template := range of {
			counts[template]++
		}
		for template, count := range counts {
			m := patterns.NewMatcher(template)
			own, others := 0, 0
			for n, message := range messages {
				switch found := m.Matches(message); {
				case of[n] == template && !found:
					t.Errorf("%s: %q is counted in %q, which does not match it", log.file, message, template)
				case of[n] == template:
					own++
				case found:
					others++
					if !m.Matches([]byte(of[n])) {
						t.Errorf("%s: %q matches %q of template %q, which is not more specific", log.file, template, message, of[n])
					}
				}
			}
			if own != count {
				t.Errorf("%s: %q finds %d of its %d messages", log.file, template, own, count)
			}
			if templates++; others == 0 {
				exact++
			} else if testing.Verbose() {
				t.Logf("%s: %d %d others: %s", log.file, own, others, template)
			}
		}
	}
	t.Logf("%d of %d templates find their messages only", exact, templates)
	if exact < templates*9/10 {
		t.Errorf("%d of %d templates find their messages only", exact, templates)
	}
}
