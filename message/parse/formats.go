package parse

import (
	"bytes"
	"slices"
	"strings"
)

// format is a recognized text format.
type format uint8

const (
	plain       format = iota // JSON, logfmt, or no fields
	access                    // common and combined log format, with extensions
	envoy                     // Envoy's default
	haproxy                   // HAProxy's HTTP format
	alb                       // AWS application load balancer
	elb                       // AWS classic load balancer
	istio                     // Istio's default, which has more columns than Envoy's
	s3                        // Amazon S3's server access log
	squid                     // Squid's native format
	fpm                       // PHP-FPM's access log
	gin                       // the access log of Gin, a web framework of Go
	klog                      // Kubernetes' logger
	nginxError                // nginx's error log
	apacheError               // Apache's error log
	appService                // Azure App Service's application log
	syslog                    // the headers of RFC 3164 and RFC 5424, with and without a priority
	formatEnd                 // their number
)

// The columns of the formats as the documentation of each project lists them, with the names that formats share. The columns of access
// start after the addresses and names.
const (
	accessLayout = `[time] "request" #status$ #bytes$`
	// agentsLayout has the columns that the combined log format adds, ingressLayout those that ingress-nginx adds after
	// them.
	agentsLayout  = `"referer" "user_agent"`
	ingressLayout = `#request_length #duration [proxy_upstream_name] [proxy_alternative_upstream_name] ` +
		`upstream_addr, upstream_response_length, upstream_response_time, upstream_status, req_id`

	envoyLayout = `[start_time] "request" #status response_flags #bytes_received #bytes #duration ` +
		`x_envoy_upstream_service_time "x_forwarded_for" "user_agent" "x_request_id" "authority" "upstream_host"`

	istioLayout = `[start_time] "request" #status response_flags response_code_details connection_termination_details ` +
		`"upstream_transport_failure_reason" #bytes_received #bytes #duration x_envoy_upstream_service_time ` +
		`"x_forwarded_for" "user_agent" "x_request_id" "authority" "upstream_host" upstream_cluster upstream_local_address ` +
		`downstream_local_address ip:client_port requested_server_name route_name`

	s3Layout = `bucket_owner bucket [time] ip requester request_id operation key "request" #status error_code #bytes #object_size ` +
		`#duration #turn_around_time "referer" "user_agent" version_id host_id signature_version cipher_suite ` +
		`authentication_type host tls_version access_point_arn acl_required$`

	fpmLayout = `date zone "request" #status$`

	squidLayout = `time ~#duration ip result/status #bytes method url user hierarchy/peer content_type`

	haproxyLayout = `ip:client_port [request_date] frontend_name backend_name/server_name TR/Tw/Tc/Tr/duration ` +
		`#status #bytes captured_request_cookie captured_response_cookie termination_state ` +
		`actconn/feconn/beconn/srv_conn/retries srv_queue/backend_queue ` +
		`{captured_request_headers} {captured_response_headers} "request"`

	elbLayout = `time elb ip:client_port backend_ip:backend_port ` +
		`request_processing_time backend_processing_time response_processing_time ` +
		`#status backend_status_code #received_bytes #bytes "request" "user_agent" ssl_cipher ssl_protocol`

	albLayout = `type time elb ip:client_port target_ip:target_port ` +
		`request_processing_time target_processing_time response_processing_time ` +
		`#status target_status_code #received_bytes #bytes "request" "user_agent" ssl_cipher ssl_protocol ` +
		`target_group_arn "trace_id" "domain_name" "chosen_cert_arn" matched_rule_priority request_creation_time ` +
		`"actions_executed" "redirect_url" "error_reason" "target_port_list" "target_status_code_list" ` +
		`"classification" "classification_reason" conn_trace_id`
)

// The names that code uses, in the order of fixedNames.
const (
	_ id = iota
	idVhost
	idPort
	idIP
	idIdent
	idUser
	idMethod
	idHost
	idPath
	idQuery
	idProtocol
	idRequest
	idStatus
	idDuration
	idForwarded
	idReceived
	idSent
	idSeverity
	idTime
	idThread
	idFile
	idLine
	idMessage
	idPID
	idTID
	idConnection
	idServer
	idUpstream
	idReferer
	idModule
	idClientPort
	idCode
	idApp
	idMsgID
)

const fixedNames = "vhost port ip ident user method host path query protocol request status duration " +
	"http_x_forwarded_for bytes_received bytes_sent severity time thread file line message " +
	"pid tid connection server upstream referer module client_port apache_code app msgid"

// formats are the compiled layouts and the names in them.
type formats struct {
	names   []string // by id
	ids     map[string]id
	columns [formatEnd][]column
	agents  []column
	ingress []column
	status  depths // for the status
	all     depths // for all fields
}

// depths are the parts of a line that must be read.
type depths struct {
	columns [formatEnd]int // number of columns, by format
	client  bool           // the fields before the columns of access
	tail    bool           // the fields after the columns of access
	header  bool           // the fields of a header of syslog
}

func newFormats() *formats {
	f := &formats{names: []string{""}, ids: map[string]id{}}
	for name := range strings.FieldsSeq(fixedNames) {
		f.id(name)
	}
	for format, layout := range [formatEnd]string{
		access: accessLayout, envoy: envoyLayout, haproxy: haproxyLayout, alb: albLayout, elb: elbLayout,
		istio: istioLayout, s3: s3Layout, squid: squidLayout, fpm: fpmLayout,
	} {
		f.columns[format] = f.layout(layout)
	}
	f.agents = f.layout(agentsLayout)
	f.ingress = f.layout(ingressLayout)
	f.need(idStatus, &f.status)
	for i := range f.names {
		f.need(id(i), &f.all)
	}
	return f
}

// id returns the id of a name, which is added if it is new.
func (f *formats) id(name string) id {
	n, ok := f.ids[name]
	if !ok {
		n = id(len(f.names))
		f.ids[name] = n
		f.names = append(f.names, name)
	}
	return n
}

// need extends d so that a field is found; 0 is no field.
func (f *formats) need(name id, d *depths) {
	for format, columns := range f.columns {
		for i, c := range columns {
			if slices.Contains(c.ids, name) {
				d.columns[format] = max(d.columns[format], i+1)
			}
		}
	}
	d.header = d.header || name == idHost
	switch {
	case slices.Contains([]id{idVhost, idPort, idIP, idIdent, idUser}, name):
		d.client = true
	case slices.Contains([]id{idApp, idPID, idMsgID}, name):
		d.header = true
	case !slices.ContainsFunc(f.columns[access], func(c column) bool { return slices.Contains(c.ids, name) }):
		d.tail = true
	}
	if d.tail {
		d.columns[access] = len(f.columns[access])
	}
}

// split reads the fields of a message that d selects.
func (f *formats) split(l *line, message []byte, d *depths) {
	format, start := recognize(message)
	f.splitAs(format, start, l, message, d)
}

// splitAs is split for a message of which recognize has returned the format and the start.
func (f *formats) splitAs(format format, start int, l *line, message []byte, d *depths) {
	l.reset(message)
	switch format {
	case plain:
		return
	case klog:
		l.klog()
		return
	case syslog:
		l.syslog()
		return
	case nginxError, apacheError, appService, gin:
		l.text, l.cut = firstLine(message)
		if again, _ := recognizeColumns(l.text); again != format { // what makes it that format is not in the first line
			l.reset(message)
			return
		}
		l.rest = nil
		switch format {
		case gin:
			l.gin()
		case nginxError:
			l.nginxError()
		case apacheError:
			l.apacheError()
		default:
			l.appService()
		}
		return
	}
	columns := f.columns[format][:d.columns[format]]
	l.text, l.cut = firstLine(message)
	if start > len(l.text) {
		l.reset(message)
		return
	}
	if d.header {
		l.header()
	}
	l.rest, l.escape = nil, '\\'
	switch format {
	case access:
		if d.client {
			l.client(start)
		}
		if next := l.walk(columns, start); d.tail {
			f.tail(l, next)
		}
	case envoy, istio:
		l.escape = 0
		status := f.status.columns[format]
		next := l.walk(f.columns[format][:status], start)
		if next == mismatch { // other logs have text in quotes after a time, too
			l.reset(message)
			return
		}
		l.walk(columns[min(status, len(columns)):], next)
	case fpm:
		if d.client {
			l.client(start)
		}
		l.walk(columns, start)
	case haproxy:
		l.escape = '#'
		l.walk(columns, bytes.LastIndexByte(l.text[:start-1], ' ')+1)
	default:
		l.walk(columns, start)
	}
}

// tail reads the fields after the columns of the common log format, at text[i].
func (f *formats) tail(l *line, i int) {
	if i >= 0 && i < len(l.text) && l.text[i] == '"' {
		i = l.walk(f.agents, i)
	}
	if i < 0 || i >= len(l.text) {
		return
	}
	if isIngress(l.text[i:]) {
		l.walk(f.ingress, i)
		return
	}
	l.extras(i)
}

// isIngress reports whether b begins with two numbers and a bracket.
func isIngress(b []byte) bool {
	if len(b) == 0 || !isDigit(b[0]) {
		return false
	}
	length := wordEnd(b, 0)
	duration := wordEnd(b, min(length+1, len(b)))
	return duration+1 < len(b) && b[duration+1] == '[' && isNumeric(b[:length]) && isNumeric(b[length+1:duration])
}
