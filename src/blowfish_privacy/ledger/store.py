"""What a kind of storage has to supply: transactions on the rows of a ledger."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator

from blowfish_privacy.ledger.account import Account
from blowfish_privacy.ledger.balance import Balance
from blowfish_privacy.ledger.entry import Document, Entry, Failure, StoredPolicy
from blowfish_privacy.privacy.loss import PairClass


class Store(ABC):
    """One open transaction on the rows of a ledger."""

    @abstractmethod
    def account(self) -> Account:
        """Return the account."""

    @abstractmethod
    def balances(self, classes: Collection[PairClass] | None = None) -> Iterator[Balance]:
        """Go through the balances of some whole classes, or of all, with those of their regions."""

    @abstractmethod
    def base(self) -> StoredPolicy | None:
        """Return the policy that the budget belongs to, with a text if any entry under it has one.

        It is that of the first entry that is not set aside: an entry that failed and has no document.
        """

    @abstractmethod
    def entry(self, key: str) -> Entry | None:
        """Find an entry by its key."""

    @abstractmethod
    def entries(self) -> Iterator[Entry]:
        """Go through the entries in order."""

    @abstractmethod
    def document(self, entry: int) -> Document | None:
        """Find the document of an entry."""

    @abstractmethod
    def documents(self) -> Iterator[Document]:
        """Go through the documents in order."""

    @abstractmethod
    def failure(self, entry: int) -> Failure | None:
        """Find the failure of an entry."""

    @abstractmethod
    def failures(self) -> Iterator[Failure]:
        """Go through the failures in order."""

    @abstractmethod
    def failed_policies(self) -> frozenset[str]:
        """Return the hashes of the policies of the entries that failed."""

    @abstractmethod
    def append(
        self, row: Entry | Document | Failure, *, before: Account, after: Account, balances: Collection[Balance] = ()
    ) -> None:
        """Update the account, on condition that it still is ``before``, and add the row.

        ``balances`` are those of the classes that an entry is charged to, as they were before.
        """

    @abstractmethod
    def damage(self) -> list[str]:
        """List the damage that the storage itself can detect."""
