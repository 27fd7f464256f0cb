package azure

import (
	"net/http"

	"logstow/store"
)

// An action is a kind of request. It determines the required permission and the meaning of a response.
type action uint8

const (
	createBlob action = iota
	readBlob
	listBlobs
	deleteBlobs
	setTier
	createContainer
	signBlobs
	readStatistics
	createTable
	dropTable
	listTables
	queryTable
	writeTable
	removeEntities
)

// onTables reports whether the table service handles the action.
func (a action) onTables() bool { return a >= createTable }

// writes reports whether read permission does not suffice.
func (a action) writes() bool {
	switch a {
	case readBlob, listBlobs, signBlobs, readStatistics, listTables, queryTable:
		return false
	default:
		return true
	}
}

// permission returns the permission that a SAS needs: the letter in sp=, and its name.
func (a action) permission() string {
	switch a {
	case createBlob, createContainer, createTable:
		return "c (create)"
	case setTier:
		return "w (write)"
	case listBlobs, listTables:
		return "l (list)"
	case deleteBlobs, dropTable, removeEntities:
		return "d (delete)"
	case writeTable:
		return "a and u (add, update)"
	default:
		return "r (read)"
	}
}

// verb returns the operation for store.Error.
func (a action) verb() string {
	switch a {
	case createBlob, createContainer, createTable:
		return "create"
	case readBlob, readStatistics:
		return "read"
	case signBlobs:
		return "request"
	case listBlobs, listTables:
		return "list"
	case deleteBlobs:
		return "delete"
	case setTier:
		return "set the tier of"
	case dropTable:
		return "drop"
	case queryTable:
		return "query"
	case writeTable:
		return "write to"
	default:
		return "remove from"
	}
}

// classOf returns the class of a response: by its code, or by its HTTP status if the code does not decide.
// No other part of this package derives a class from a code.
//
// https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes
// https://learn.microsoft.com/rest/api/storageservices/table-service-error-codes
// https://learn.microsoft.com/rest/api/storageservices/common-rest-api-error-codes
func classOf(a action, status int, code string) error {
	if class := classOfCode(a, code); class != nil {
		return class
	}
	switch {
	case status == http.StatusPreconditionFailed && a == createBlob:
		return store.ErrExists
	case status == http.StatusPreconditionFailed && a == readBlob:
		return store.ErrNotFound // replaced since it was listed
	case status == http.StatusNotFound:
		return missing(a)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return store.ErrAccessDenied
	case status == http.StatusRequestedRangeNotSatisfiable:
		return store.ErrRange
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return store.ErrThrottled
	case status == http.StatusNotImplemented, status == http.StatusHTTPVersionNotSupported:
		return store.ErrInvalid
	case status == http.StatusRequestTimeout, status >= http.StatusInternalServerError, status < http.StatusBadRequest:
		return store.ErrUnavailable
	case code == "" && status != http.StatusRequestEntityTooLarge:
		return store.ErrUnavailable // from a proxy: the service sends a code
	default:
		return store.ErrInvalid
	}
}

func classOfCode(a action, code string) error {
	switch code {
	case "BlobAlreadyExists", "UnauthorizedBlobOverwrite", "ContainerAlreadyExists", "TableAlreadyExists", "EntityAlreadyExists":
		return store.ErrExists
	case "BlobImmutableDueToPolicy", "BlobImmutableDueToLegalHold":
		if a == createBlob {
			return store.ErrExists // only an existing blob can be immutable
		}
		return store.ErrHeld
	case "LeaseIdMissing", "LeaseLost", "SnapshotsPresent", "ContainerProtectedFromDeletion":
		if a == deleteBlobs || a == setTier {
			return store.ErrHeld
		}
	case "BlobNotFound", "EntityNotFound":
		return store.ErrNotFound
	case "ContainerNotFound":
		return store.ErrNoContainer
	case "TableNotFound":
		return store.ErrNoTable
	case "ResourceNotFound":
		if a == removeEntities {
			return store.ErrNotFound
		}
		return missing(a)
	case "InvalidRange":
		return store.ErrRange
	case "TableBeingDeleted":
		return store.ErrTableBusy
	case "ServerBusy":
		return store.ErrThrottled
	case "ContainerBeingDeleted", "AccountBeingCreated", "InternalError", "OperationTimedOut",
		"Md5Mismatch", "Crc64Mismatch": // the last two: damaged in transit
		return store.ErrUnavailable
	case "InvalidAuthenticationInfo", "NoAuthenticationInformation", "PublicAccessNotPermitted",
		"AccountIsDisabled", "ContainerDisabled":
		return store.ErrAccessDenied
	}
	return nil
}

// missing returns the class of a 404 response without a specific code: the object that the request
// addresses is missing.
func missing(a action) error {
	switch a {
	case readBlob:
		return store.ErrNotFound
	case createTable, dropTable, listTables:
		return store.ErrNotFound
	case queryTable, writeTable, removeEntities:
		return store.ErrNoTable
	default:
		return store.ErrNoContainer
	}
}
