package recognize

import (
	"logstow/message"
	"logstow/message/parse"
	"logstow/record"
)

// isGatewayLog reports whether a category of Azure's resource logs has requests of a gateway.
func isGatewayLog(category []byte) bool {
	switch string(category) {
	case "ApplicationGatewayAccessLog", "FrontDoorAccessLog", "FrontdoorAccessLog", "AzureCdnAccessLog", "AppServiceHTTPLogs", "GatewayLogs":
		return true
	}
	return false
}

// ofProperties takes the level from the properties of a resource log of Azure: from the status of a request, a level, or a wrapped line.
func (f *finding) ofProperties() {
	m := message.Object(f.properties)
	for name, value, ok := m.Next(); ok && f.level == record.None; name, value, ok = m.Next() {
		if f.gateway {
			switch string(name) {
			case "httpStatus", "httpStatusCode", "httpStatusDetails", "HttpStatus", "HttpStatusCode", "ScStatus", "scStatus", "responseCode":
				f.level, _ = parse.StatusLevel(message.Unquoted(value))
			}
			continue
		}
		switch kind := fieldOf(name); {
		case kind == fieldLevel, string(name) == "errorLevel": // of PostgreSQL
			f.level = levelValue(fieldLevel, trimSpace(message.Unquoted(value)), false)
		case kind == fieldWrapped, kind == fieldNested:
			f.wrap(value)
		}
	}
}
