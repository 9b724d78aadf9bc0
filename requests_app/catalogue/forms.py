"""How does a person answer an offering's questions? A form made from them; the same function judges it as the API."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from django import forms

from portal.kernel.errors import Invalid
from requests_app.catalogue import texts
from requests_app.catalogue.answers import FARTHEST_DAYS, clean_answers
from requests_app.catalogue.questions import Live, Question, QuestionType, asked_only
from requests_app.catalogue.schema import LARGEST
from requests_app.catalogue.typed import to_answer, to_typed_all

PREFIX = "q"
FEW_CHOICES = 4


class AnswerField(forms.Field):
    """A field that takes what was typed as it is; the form as a whole says what is wrong with it."""

    def __init__(self, question: Question, widget: forms.Widget) -> None:
        super().__init__(
            label=question.label, help_text=question.help, required=question.required, widget=widget
        )
        self.question = question
        self.unit = question.unit

    def clean(self, value: Any) -> Any:
        """Nothing is refused here."""
        return value

    @property
    def shown_when(self) -> str:
        """The name of the field that decides whether this one is asked, as the page has it; empty when always."""
        condition = self.question.show_if
        return "" if condition is None else f"{PREFIX}-{condition.question}"

    @property
    def shown_for(self) -> str:
        """The answers of that field that lead here, as JSON; a ticked box answers true."""
        condition = self.question.show_if
        return "" if condition is None else json.dumps([_as_posted(value) for value in condition.values])


def _as_posted(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class AnswersForm(forms.Form):
    """The questions of one offering version, for one moment's choices."""

    use_required_attribute = False

    def __init__(
        self,
        questions: Sequence[Question],
        *,
        live: Live,
        today: date,
        data: Mapping[str, Any] | None = None,
        answers: Mapping[str, Any] | None = None,
        typed: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(data, prefix=PREFIX, initial=to_typed_all(questions, answers or {}))
        self.questions, self.live, self.today = questions, live, today
        for question in questions:
            self.fields[question.name] = AnswerField(question, _WIDGETS[question.type](question, live, today))
        if typed is not None:
            self.initial.update(self._read(typed))
        self.answers: dict[str, Any] = {}

    def _read(self, typed: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: field.widget.value_from_datadict(typed, {}, self.add_prefix(name))
            for name, field in self.fields.items()
        }

    @property
    def raw_answers(self) -> dict[str, Any]:
        """What was typed, as an API client would send it, without the questions that aren't asked."""
        typed = self._read(self.data) if self.is_bound else dict(self.initial)
        given = {each.name: to_answer(each, typed.get(each.name)) for each in self.questions}
        return asked_only(self.questions, given)

    def clean(self) -> dict[str, Any]:
        """Judge the answers as the API does; complaints go to their fields."""
        try:
            self.answers = clean_answers(self.questions, self.raw_answers, live=self.live, today=self.today)
        except Invalid as problem:
            for name, complaints in problem.fields.items():
                self.add_error(name if name in self.fields else None, complaints)
        return self.answers


def _line(question: Question, _live: Live, _today: date) -> forms.Widget:
    limit = min(question.max_length or texts.SHORT, texts.SHORT)
    return forms.TextInput(attrs={"maxlength": limit, "autocomplete": "off"})


def _paragraph(question: Question, _live: Live, _today: date) -> forms.Widget:
    return forms.Textarea(attrs={"rows": 4, "maxlength": question.max_length or texts.LONG})


def _code_lines(_question: Question, _live: Live, _today: date) -> forms.Widget:
    return forms.Textarea(attrs={"rows": 3, "class": "mono", "spellcheck": "false", "autocomplete": "off"})


def _number(question: Question, _live: Live, _today: date) -> forms.Widget:
    whole = question.type is not QuestionType.DECIMAL
    step = question.step if question.step is not None else (1 if whole else 0.01)
    attributes = {
        "min": 0 if question.minimum is None else question.minimum,
        "max": LARGEST if question.maximum is None else question.maximum,
        "step": step,
        "inputmode": "numeric" if whole else "decimal",
    }
    return forms.NumberInput(attrs=attributes)


def _one_of(question: Question, live: Live, _today: date) -> forms.Widget:
    choices = [(each.value, each.label) for each in question.options(live)]
    if question.type is QuestionType.CHOICE and len(choices) <= FEW_CHOICES:
        return forms.RadioSelect(choices=choices)
    return forms.Select(choices=[("", "Choose …"), *choices])


def _some_of(question: Question, live: Live, _today: date) -> forms.Widget:
    return forms.CheckboxSelectMultiple(choices=[(each.value, each.label) for each in question.options(live)])


def _day(question: Question, _live: Live, today: date) -> forms.Widget:
    farthest = FARTHEST_DAYS if question.within_days is None else question.within_days
    attributes = {
        "type": "date",
        "min": today.isoformat(),
        "max": (today + timedelta(days=farthest)).isoformat(),
    }
    return forms.DateInput(attrs=attributes, format="%Y-%m-%d")


def _tick(_question: Question, _live: Live, _today: date) -> forms.Widget:
    return forms.CheckboxInput()


_WIDGETS: Mapping[QuestionType, Callable[[Question, Live, date], forms.Widget]] = {
    QuestionType.TEXT: _line,
    QuestionType.LONG_TEXT: _paragraph,
    QuestionType.INTEGER: _number,
    QuestionType.DECIMAL: _number,
    QuestionType.DURATION: _number,
    QuestionType.CHOICE: _one_of,
    QuestionType.SKU: _one_of,
    QuestionType.TEAM_CLUSTER: _one_of,
    QuestionType.MULTI_CHOICE: _some_of,
    QuestionType.DATE: _day,
    QuestionType.BOOLEAN: _tick,
    QuestionType.SSH_KEYS: _code_lines,
    QuestionType.STORAGE_MOUNTS: _code_lines,
}
