"""Names that are words too: Will, May, Grace, Weiss. Where a text uses the word, nobody is named, and a review would drown in it.

Such a word, and a handle of one, is read as a name beside another part of the name, behind a title or the sign of a handle, and else where
it begins with a capital letter and is not used as the word that it is: "Will you come?", "in May 2023". A table, so short of many.
"""

from __future__ import annotations

_TABLE = """
ace admin agent amber angel anonymous apple april archer art ash assistant august autumn baker ball banks bar barber bay bean bear bee
bell berg berger berry best beth bill bird bishop black blanc blanco bliss bloom blue bob bond book bosch boss bot bow bowl boy bray
bridge bright brook brooks brown buck busch bush butcher butler campo can care carpenter casa casas case cash chance chapel chapman
charity chase cherry child chip christian chuck church clay clear client cliff cloud coin cole cook cool cooper corn cort cotton court
crane cross crow cruz dale dash date dawn day days dean deer default delgado demo dev developer diamond dick dish divine doll dollar dolly
dolores domingo don dot dove drake dream drew duke dusk earl early earnest east ebony echo eden ember engel english ernst esperanza eve
ever fair faith falk fall farmer fein fern field fields finch fine fink fish fisher flint flora flores flower flowers ford forest forester
fox frank free freitag french friday friend frost fuchs gabe gale gardener gates gay gene gentle german gift gill glass glen gold good
goodman gould grace grand grant grau grave gray green grey gross ground grun guest guy hahn hale hall hand hank happy hard harmony harper
hart haven hawk hay hazel head heath heather hell henna herbst hero hill hills holiday holland holly holm holt holz honey honor honour
hood hook hope horn house human hunt hunter hunting iglesias iris iron island ivory ivy jack jade jasmine jay jean jet jewel jeweler joke
jordan joy judge jules juli june jung jury just justice kaiser kaufmann kay keen kind king kings kirche klein knapp knight koch konig korn
kraft kranz krause kuhn kurz lake lamb lance land landing lane lang lark last laurel law lay leaf lee legend lemon leon lex liberty lieb
light lilac lily lime lincoln lion little liv lock long lopez lord lou love low lowe lucky luz mac major man mann mar marble march marco
margin marine mark marks marsh marshal marshall martel mason mat max may meadow meier melody member mercedes mercy merry mild miles mill
miller mine mint miracle mittag mohr moon moor moore more moreno morgen moss mountain nacht nagel name nell new newman nice nick night
nina noble nobody north nova oak ocean olive opal owner page paige paine painter pal paloma pan park parker parks pat patience paul paz
peace peak pearl pen penny perle perry petal petit phil phoenix pie pierce pierre pilar pilot pine pink piper pitt plain plum poet poll
pool poor pope porter post potter price pride prince prior prosper providence prudence queen quick rae rain rainbow ram rapp ray read real
red reed reich rein rey reyes rice rich richter ring rio rios ritter river rivers rob robin rock rod roman root rosa rose rot roth rowan
ruby rush russell rust rusty sage sailor saint salt sam sand sander sandy santa santos sapphire savage schmidt schneider schon schwarz
scott sea season self serene shade sharp shaw sheep shepard shepherd shore short silver singer skip sky small smart smith snow sol someone
sommer song sonntag south spark sparrow spear speed spice spring springer staff star stark starr steel stein stern stew stone storm story
stout strange straw street strong sue summer summers sun sunday sunny sutton swan swift system tailor tall tanner tate taylor temple test
tester theo thorn tiger timber tom torres town trace travel trinity trip troy true trueman trust tucker turner unique user vale valentine
valley van vera vic victor victory viola violet virgin virtue vogel voss wade wagner wahl wald walker wall walls war ward warm waters wave
way weaver webb weber weeks weis weise weiss well wells west wheat wheeler white wild will willow win wind winter winters wise wolf wolfe
wonder wood woods word worth wren wright york young zimmer zorn
"""
COMMON = frozenset(_TABLE.split())
# What follows such a word at the beginning of a sentence where it is a verb: "May I ask", "Hope this helps", "Will send it".
_FOLLOWERS = """
i you he she it we they this that these those there the a an my your our his her its their to so all some any anyone everyone everything not
be do have try send check let get see take call need
"""
FOLLOWERS = frozenset(_FOLLOWERS.split())
# What precedes a time of the year or a day, and hardly ever a person.
_BEFORE_TIMES = "in since until till last next this late mid early during every each im seit en desde au"
BEFORE_TIMES = frozenset(_BEFORE_TIMES.split())
_TIMES = "april august autumn fall freitag friday herbst june juli march may morgen season sommer spring summer summers sunday winter"
TIMES = frozenset(_TIMES.split())
_TITLES = """
dr prof professor mr mrs ms miss herr herrn frau sir dame lady señor señora senor senora sr sra don dona doña mme mlle monsieur madame dott
ing dipl mag
"""
TITLES = frozenset(_TITLES.split())
ABBREVIATIONS = frozenset(("ai", "am", "eu", "id", "it", "ok", "pc", "pm", "ps", "tv", "uk", "us"))  # as initials only with points
